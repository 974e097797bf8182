package main

import (
	"fmt"
	"path/filepath"
)

// switchVariable tells a test binary with many mutants which of them to be.
const switchVariable = "JOBFATE_MUTANT"

// switchFile declares the variable that the mutants of a package ask.
const switchFile = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant = func() int {
	n, _ := strconv.Atoi(os.Getenv(%q))
	return n
}()
`

// withSwitch returns the files of the package and the one with the switch.
func (p *sourcePackage) withSwitch() map[string]string {
	texts := map[string]string{}
	for _, f := range p.files {
		texts[f.path] = f.text
	}
	dir := filepath.Dir(p.files[0].path)
	texts[filepath.Join(dir, "chosen_mutant.go")] = fmt.Sprintf(switchFile, p.name, switchVariable)
	return texts
}

// testSwitched tests mutants that are all in the same texts, numbered from 1: with
// the tests of the package, and those that survive with the tests of the root, or with
// the tests that were asked for.
func (r *runner) testSwitched(p *sourcePackage, texts map[string]string, mutants []*mutant) error {
	if r.tests != "" {
		return r.testBatch(p, texts, mutants)
	}
	for _, dir := range r.testsOf(p) {
		b, err := r.build(dir, texts)
		if err != nil {
			return err
		}
		defer b.remove()
		if b, err = r.calibrate(b); err != nil {
			return err
		}
		err = r.each(mutants, func(i int, m *mutant) (err error) {
			if m.verdict == survived {
				m.verdict, _, err = r.run(b, i+1)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// testBatch is testSwitched with the tests that were asked for.
func (r *runner) testBatch(p *sourcePackage, texts map[string]string, mutants []*mutant) error {
	b, err := r.buildBatch(p, r.tests, texts)
	if err != nil {
		return err
	}
	defer b.remove()
	if b, err = r.calibrate(b); err != nil {
		return err
	}
	return r.runBatch(b, mutants)
}

// testsOf returns the folders of the packages whose tests a mutant has to survive.
func (r *runner) testsOf(p *sourcePackage) []string {
	switch {
	case r.tests != "":
		return []string{r.tests}
	case p.dir == ".":
		return []string{"."}
	}
	return []string{p.dir, "."}
}
