package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	var together, alone []*mutant
	for _, m := range p.mutants {
		switch {
		case m.verdict != "survived":
		case m.results != "":
			together = append(together, m)
		default:
			alone = append(alone, m)
		}
	}
	all := true
	if len(together) > 1 {
		var err error
		if all, err = p.testTogether(dir, together); err != nil {
			return err
		}
	}
	for _, m := range together {
		if m.verdict == "survived" && (!all || len(together) == 1) {
			alone = append(alone, m)
		}
	}
	for _, m := range alone {
		run, err := p.build(dir, m)
		if err == nil {
			err = m.judge(run(0, time.Hour, ""))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// testTogether runs the tests on mutants in one binary, and reports whether it ran all of them:
// those that fail with none chosen are skipped, since functions with mutants in them allocate
// more. They must pass in a binary without mutants.
func (p *source) testTogether(dir string, mutants []*mutant) (all bool, err error) {
	run, err := p.build(dir)
	if err == nil {
		err = run(0, time.Hour, "")
	}
	if err != nil {
		return false, fmt.Errorf("without a mistake: %w", err)
	}
	if run, err = p.build(dir, mutants...); err != nil {
		return false, err
	}
	skip, start := "", time.Now()
	for err := run(0, time.Hour, skip); err != nil; err = run(0, time.Hour, skip) {
		name := failed.FindStringSubmatch(err.Error())
		if name == nil || strings.Contains(skip, "^"+name[1]+"$") {
			return false, err
		}
		skip, start = strings.TrimPrefix(skip+"|^"+name[1]+"$", "|"), time.Now()
	}
	limit := 10 * (time.Since(start) + time.Second)
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, m := range mutants {
		group.Go(func() error { return m.judge(run(m.number, limit, skip)) })
	}
	return skip == "", group.Wait()
}

// judge takes note of how tests have ended.
func (m *mutant) judge(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		m.verdict, err = "killed", nil
	}
	return err
}

// build makes the test binary of a folder, with mutants of the package in it, and returns
// what runs it as one of them, without using all of the machine's memory.
func (p *source) build(dir string, mutants ...*mutant) (func(number int, limit time.Duration, skip string) error, error) {
	texts := mutated(p.texts, mutants)
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
	if _, err := command(p.root, "go", "test", "-c", "-vet=off", "-overlay", replace, "-o", binary, "./"+dir); err != nil {
		return nil, err
	}
	code, err := os.ReadFile(binary)
	return func(number int, limit time.Duration, skip string) error {
		args := []string{fmt.Sprintf("CHOSEN_MUTANT=%d", number), "sh", "-c", `ulimit -v 8388608; exec "$0" "$@"`,
			binary, "-test.failfast", "-test.timeout=" + limit.String()}
		if bytes.Contains(code, []byte("rapid.seed")) {
			args = append(args, "-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ns")
		}
		if skip != "" {
			args = append(args, "-test.skip="+skip)
		}
		_, err := command(filepath.Join(p.root, dir), "env", args...)
		return err
	}, err
}

// mutated returns texts of files with mutants in them. One takes its place; of several, a function
// first asks whether to be one of its mutants, which are functions within it.
func mutated(texts map[string]string, mutants []*mutant) map[string]string {
	out, mutants := maps.Clone(texts), slices.Clone(mutants)
	slices.SortFunc(mutants, func(a, b *mutant) int { return b.from.Offset - a.from.Offset })
	for _, m := range mutants {
		text, body := out[m.from.Filename], m.from.Offset+1
		switch {
		case len(mutants) == 1:
			text = text[:m.from.Offset] + m.text + text[m.to.Offset:]
		case m.results == "func()":
			text = fmt.Sprintf("%s if chosenMutant == %d { func() %s(); return }; %s", text[:body], m.number, m.text, text[body:])
		default:
			text = fmt.Sprintf("%s if chosenMutant == %d { return %s %s() }; %s", text[:body], m.number, m.results, m.text, text[body:])
		}
		out[m.from.Filename] = text
	}
	return out
}

// leaveOut marks the mutants in statements that the tests do not run. What stands in no
// block of a coverage profile, as the condition of a case, counts as run.
func (p *source) leaveOut() error {
	name := filepath.Join(p.work, "profile")
	if _, err := command(p.root, "go", "test", "-count=1", "-coverpkg="+p.PkgPath, "-coverprofile="+name, p.tests); err != nil {
		return err
	}
	profiles, err := cover.ParseProfiles(name)
	for _, profile := range profiles {
		for _, b := range profile.Blocks {
			for _, m := range p.mutants {
				after := m.at.Line > b.StartLine || m.at.Line == b.StartLine && m.at.Column >= b.StartCol
				before := m.at.Line < b.EndLine || m.at.Line == b.EndLine && m.at.Column < b.EndCol
				if after && before && b.Count == 0 && filepath.Base(profile.FileName) == filepath.Base(m.at.Filename) {
					m.verdict = "not run"
				}
			}
		}
	}
	return err
}

// command runs a command in a folder, and returns what it prints.
func command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output), err
}
