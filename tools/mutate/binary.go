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
	if err := command(p.root, "go", "test", "-timeout=1h", dir); err != nil {
		return fmt.Errorf("without a mistake: %w", err)
	}
	var together []*mutant
	for _, m := range p.mutants {
		if m.verdict == "survived" && m.body != nil {
			together = append(together, m)
		}
	}
	var skipped bool
	var err error
	if len(together) > 0 {
		skipped, err = p.try(dir, together)
	}
	for _, m := range p.mutants {
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
	run, err := p.build(dir, mutants)
	if err != nil {
		return false, err
	}
	limit, skip := time.Hour, "^$"
	if len(mutants) > 1 {
		for _, name := range failed.FindAllStringSubmatch(fmt.Sprint(run(0, limit, skip)), -1) {
			skip += "|^" + name[1] + "$"
		}
		start := time.Now()
		if err := run(0, limit, skip); err != nil {
			return false, err
		}
		limit = 10 * (time.Since(start) + time.Second)
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, m := range mutants {
		group.Go(func() error {
			err := run(i+1, limit, skip)
			if exit := new(exec.ExitError); errors.As(err, &exit) {
				m.verdict, err = "killed", nil
			}
			return err
		})
	}
	return skip != "^$", group.Wait()
}

// build makes the test binary of a folder, with mutants of the package in it, and returns what
// runs it as one of them, or as none, without using all of the machine's memory.
func (p *source) build(dir string, mutants []*mutant) (func(number int, limit time.Duration, skip string) error, error) {
	texts := p.textsWith(mutants)
	texts[filepath.Join(p.Dir, "chosen_mutant.go")] = fmt.Sprintf(chosenMutant, p.Name)
	var err error
	overlay := map[string]string{}
	for name, text := range texts {
		overlay[name] = filepath.Join(p.work, filepath.Base(name))
		err = errors.Join(err, os.WriteFile(overlay[name], []byte(text), 0o600))
	}
	list, _ := json.Marshal(map[string]any{"Replace": overlay})
	replace, binary := filepath.Join(p.work, "overlay.json"), filepath.Join(p.work, "mutants.test")
	if err = errors.Join(err, os.WriteFile(replace, list, 0o600)); err != nil {
		return nil, err
	}
	if err := command(p.root, "go", "test", "-c", "-vet=off", "-overlay", replace, "-o", binary, dir); err != nil {
		return nil, err
	}
	code, err := os.ReadFile(binary)
	return func(number int, limit time.Duration, skip string) error {
		args := []string{"-c", fmt.Sprintf(`export CHOSEN_MUTANT=%d; ulimit -v 8388608; exec "$0" "$@"`, number),
			binary, "-test.timeout=" + limit.String(), "-test.skip=" + skip}
		if bytes.Contains(code, []byte("rapid.seed")) {
			args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
		}
		if number > 0 {
			args = append(args, "-test.failfast")
		}
		return command(filepath.Join(p.root, dir), "sh", args...)
	}, err
}

// textsWith returns the files with mutants in them. A single one takes its place. Of several, a
// function first asks which to be, and holds each as a function within it.
func (p *source) textsWith(mutants []*mutant) map[string]string {
	texts := maps.Clone(p.texts)
	if len(mutants) == 1 {
		m := mutants[0]
		texts[p.Fset.File(m.from).Name()] = p.mutated(m, m.file.FileStart, m.file.FileEnd)
		return texts
	}
	inserts := map[token.Pos]string{} // by the bodies of functions
	for i, m := range mutants {
		choice := " if chosenMutant == %d { return %s %s() }; "
		if m.signature == "func()" {
			choice = " if chosenMutant == %d { %s %s(); return }; "
		}
		inserts[m.body.Pos()] += fmt.Sprintf(choice, i+1, m.signature, p.mutated(m, m.body.Pos(), m.body.End()))
	}
	for _, body := range slices.Backward(slices.Sorted(maps.Keys(inserts))) {
		at := p.Fset.Position(body)
		texts[at.Filename] = texts[at.Filename][:at.Offset+1] + inserts[body] + texts[at.Filename][at.Offset+1:]
	}
	return texts
}

// leaveOut marks the mutants in statements that the tests do not run. What stands in no
// block of a coverage profile, as the condition of a case, counts as run.
func (p *source) leaveOut() error {
	name := filepath.Join(p.work, "profile")
	if err := command(p.root, "go", "test", "-count=1", "-coverpkg="+p.PkgPath, "-coverprofile="+name, p.tests); err != nil {
		return err
	}
	profiles, err := cover.ParseProfiles(name)
	for _, profile := range profiles {
		for _, b := range profile.Blocks {
			_, from := p.at(profile.FileName, b.StartLine, b.StartCol)
			_, to := p.at(profile.FileName, b.EndLine, b.EndCol)
			for _, m := range p.mutants {
				if b.Count == 0 && from <= m.from && m.from < to {
					m.verdict = "not run"
				}
			}
		}
	}
	return err
}

// command runs a command in a folder.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}
