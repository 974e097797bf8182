package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"maps"
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
	"golang.org/x/tools/cover"
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
	if _, err := command(p.root, "go", "test", "-timeout=1h", dir); err != nil {
		return fmt.Errorf("without a mistake: %w", err)
	}
	left := slices.DeleteFunc(slices.Clone(p.mutants), func(m *mutant) bool { return m.verdict != "survived" })
	skipped, err := p.try(dir, slices.DeleteFunc(slices.Clone(left), func(m *mutant) bool { return m.body == nil }))
	for _, m := range left {
		if err == nil && m.verdict == "survived" && (m.body == nil || skipped) {
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
	for i, m := range mutants {
		group.Go(func() error {
			err := p.run(dir, i+1, limit, skip)
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
			_, err = command(p.root, "go", "test", "-c", "-vet=off", "-gcflags=./"+p.dir+"=-e", "-overlay", replace, "-o", p.binary(), dir)
		}
		names := broken.FindAllStringSubmatch(fmt.Sprint(err), -1)
		if len(names) == 0 {
			return mutants, err
		}
		for _, name := range names {
			number, _ := strconv.Atoi(name[1])
			mutants[number-1].verdict = "broken"
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
		_, err = command(filepath.Join(p.root, dir), "sh", args...)
	}
	return err
}

// overlay writes the files with mutants in them, and returns the file that names them to the go
// command. A single mutant takes its place. Of several, a function first asks which to be, and
// holds each as a function within it. To the compiler each is in a file of its own, mutant1 and so on.
func (p *source) overlay(mutants []*mutant) (string, error) {
	texts := maps.Clone(p.texts)
	texts[filepath.Join(p.Dir, "chosen_mutant.go")] = fmt.Sprintf(chosenMutant, p.Package.Name)
	inserts := map[token.Pos]string{} // by the bodies of functions
	for i, m := range mutants {
		if len(mutants) == 1 {
			file := p.fset.File(m.from)
			texts[file.Name()] = p.mutated(m, 1, token.Pos(file.Base()), token.Pos(file.Base()+file.Size()))
			break
		}
		choice := " if chosenMutant == %d { return %s %s() }; "
		if m.signature == "func()" {
			choice = " if chosenMutant == %d { %s %s(); return }; "
		}
		inserts[m.body.Pos()] += fmt.Sprintf(choice, i+1, m.signature, p.mutated(m, i+1, m.body.Pos(), m.body.End()))
	}
	for _, body := range slices.Backward(slices.Sorted(maps.Keys(inserts))) {
		at := p.fset.Position(body)
		texts[at.Filename] = texts[at.Filename][:at.Offset+1] + inserts[body] + texts[at.Filename][at.Offset+1:]
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

// leaveOut marks the survivors in statements that the tests do not run. What stands in no
// block of a coverage profile, as the condition of a case, counts as run.
func (p *source) leaveOut() error {
	name := filepath.Join(p.work, "profile")
	if _, err := command(p.root, "go", "test", "-count=1", "-coverpkg=./"+p.dir, "-coverprofile="+name, p.tests); err != nil {
		return err
	}
	profiles, err := cover.ParseProfiles(name)
	for _, profile := range profiles {
		for _, b := range profile.Blocks {
			for _, m := range p.mutants {
				at := p.fset.Position(m.from)
				after := at.Line > b.StartLine || at.Line == b.StartLine && at.Column >= b.StartCol
				before := at.Line < b.EndLine || at.Line == b.EndLine && at.Column < b.EndCol
				if m.verdict == "survived" && b.Count == 0 && after && before && filepath.Base(at.Filename) == filepath.Base(profile.FileName) {
					m.verdict = "not run"
				}
			}
		}
	}
	return err
}

// command runs a command in a folder and returns what it prints.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output), nil
}
