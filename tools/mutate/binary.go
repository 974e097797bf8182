package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// chosenMutant is declared in the package under test, which asks it what to be.
const chosenMutant = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant, _ = strconv.Atoi(os.Getenv("CHOSEN_MUTANT"))
`

// testIn runs the tests of a folder on the mutants that have survived so far. What is outside
// of functions cannot choose, and has a binary of its own. So has what survives where tests
// are skipped.
func (p *source) testIn(dir string) error {
	if err := command(p.root, "go", "test", "-timeout=1h", dir); err != nil {
		return fmt.Errorf("without a mistake: %w", err)
	}
	left := slices.DeleteFunc(slices.Clone(p.mutants), func(m *mutant) bool { return m.verdict != "survived" })
	skipped, err := p.try(dir, slices.DeleteFunc(slices.Clone(left), func(m *mutant) bool { return m.choice == "" }))
	for _, m := range left {
		if err == nil && m.verdict == "survived" && (m.choice == "" || skipped) {
			_, err = p.try(dir, []*mutant{m})
		}
	}
	return err
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// try runs the tests of a folder on each of some mutants, with one binary, and reports whether
// it skipped tests: in a binary of several mutants, those that fail with none chosen, since
// functions with mutants in them allocate more.
func (p *source) try(dir string, mutants []*mutant) (skipped bool, err error) {
	mutants, err = p.build(dir, mutants)
	limit, skip := time.Hour, "^$"
	if len(mutants) > 1 && err == nil {
		for _, name := range failed.FindAllStringSubmatch(fmt.Sprint(p.run(dir, 0, limit, skip)), -1) {
			skip += "|^" + name[1] + "$"
		}
		start := time.Now()
		err = p.run(dir, 0, limit, skip)
		limit = 10 * (time.Since(start) + time.Second)
	}
	if err != nil {
		return false, err
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, m := range mutants {
		group.Go(func() error {
			err := p.run(dir, m.number, limit, skip)
			if exit := new(exec.ExitError); errors.As(err, &exit) {
				m.verdict, err = "killed", nil
			}
			return err
		})
	}
	return skip != "^$", group.Wait()
}

var broken = regexp.MustCompile(`\bmutant(\d+):`)

// build makes the test binary of a folder, with mutants of the package in it, and returns those
// that compile: the compiler names the others.
func (p *source) build(dir string, mutants []*mutant) ([]*mutant, error) {
	for {
		replace, err := p.overlay(mutants)
		if err == nil {
			err = command(p.root, "go", "test", "-c", "-vet=off", "-gcflags="+p.dir+"=-e", "-overlay", replace, "-o", p.binary(), dir)
		}
		names := broken.FindAllStringSubmatch(fmt.Sprint(err), -1)
		if len(names) == 0 {
			return mutants, err
		}
		for _, name := range names {
			number, _ := strconv.Atoi(name[1])
			p.mutants[number-1].verdict = "broken"
		}
		mutants = slices.DeleteFunc(mutants, func(m *mutant) bool { return m.verdict == "broken" })
	}
}

func (p *source) binary() string { return filepath.Join(p.work, "mutants.test") }

// run runs the test binary of a folder as one of the mutants in it, or as none, without using all
// of the machine's memory.
func (p *source) run(dir string, number int, limit time.Duration, skip string) error {
	code, err := os.ReadFile(p.binary())
	args := []string{"-c", fmt.Sprintf(`export CHOSEN_MUTANT=%d; ulimit -v 8388608; exec "$0" "$@"`, number),
		p.binary(), "-test.timeout=" + limit.String(), "-test.skip=" + skip}
	if bytes.Contains(code, []byte("rapid.seed")) {
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
	}
	if number > 0 {
		args = append(args, "-test.failfast")
	}
	if err == nil {
		err = command(filepath.Join(p.root, dir), "sh", args...)
	}
	return err
}

// overlay writes the files with mutants in them, and returns the file that names them to the go
// command. A single mutant takes its place. Of several, a function first asks which to be.
func (p *source) overlay(mutants []*mutant) (string, error) {
	texts := map[string]string{filepath.Join(p.Dir, "chosen_mutant.go"): fmt.Sprintf(chosenMutant, p.Package.Name)}
	for _, m := range slices.Backward(mutants) {
		if len(mutants) == 1 {
			texts[m.file] = m.text
			break
		}
		if texts[m.file] == "" {
			text, err := os.ReadFile(m.file)
			if err != nil {
				return "", err
			}
			texts[m.file] = string(text)
		}
		texts[m.file] = texts[m.file][:m.body] + m.choice + texts[m.file][m.body:]
	}
	var err error
	files := map[string]string{}
	for name, text := range texts {
		files[name] = filepath.Join(p.work, filepath.Base(name))
		err = errors.Join(err, os.WriteFile(files[name], []byte(text), 0o600))
	}
	list, _ := json.Marshal(map[string]any{"Replace": files})
	replace := filepath.Join(p.work, "overlay.json")
	return replace, errors.Join(err, os.WriteFile(replace, list, 0o600))
}

// command runs a command in a folder. The error has what it prints.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}
