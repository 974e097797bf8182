package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// results has the result of each test: pass, fail or skip.
type results map[string]string

// test runs the tests of the project.
func (t *tree) test(ctx context.Context) (results, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-mod=mod"}, t.packages...)...)
	cmd.Dir = t.copy
	out, failed := output(cmd)
	all, rest := results{}, ""
	for line := range bytes.Lines(out) {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, errors.Join(failed, fmt.Errorf("%q: %w", line, err))
		}
		switch {
		case e.Test == "":
			rest += e.Output
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			all[strings.TrimPrefix(e.Package, t.module+"/")+"."+e.Test] = e.Action
		}
	}
	if failed != nil && !slices.Contains(slices.Collect(maps.Values(all)), "fail") {
		return nil, fmt.Errorf("%w\n%s", failed, rest) // it was not a test that failed
	}
	return all, nil
}

// mended runs the tests with our fixtures and without jobfate, and returns an error unless the test that jobfate mends
// fails then, and no other.
func (t *tree) mended(ctx context.Context, before results) error {
	// Functions that take the place of those to drop are for the tests after.
	if err := t.replace("_test.go", nil, t.drop); err != nil {
		return err
	}
	after, err := t.test(ctx)
	if err != nil {
		return err
	}
	return t.fails(before, after)
}

// fails returns an error unless the test that jobfate mends fails, and all others do as before.
func (p *project) fails(before, after results) error {
	_, err := (&project{reasons: []reason{{p.mends, "our fixtures show a bug"}}}).explain(before, after)
	if after[p.mends] != "fail" {
		err = errors.Join(err, fmt.Errorf("%s: %q without jobfate", p.mends, after[p.mends]))
	}
	return err
}

func passed(all results) (n int) {
	for _, result := range all {
		if result == "pass" {
			n++
		}
	}
	return n
}

// explain returns the reasons of the tests whose results differ, and an error if one has none, or the test that jobfate
// mends does not pass.
func (p *project) explain(before, after results) (differ string, err error) {
	var errs []error
	if p.mends != "" && after[p.mends] != "pass" {
		errs = append(errs, fmt.Errorf("%s: %q with jobfate", p.mends, after[p.mends]))
	}
	used := map[string]bool{}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] == after[name] {
			continue
		}
		// A test also fails if a part of it does.
		of := func(r reason) bool { return strings.HasPrefix(name, r.test) || strings.HasPrefix(r.test, name+"/") }
		if i := slices.IndexFunc(p.reasons, of); i >= 0 {
			used[p.reasons[i].test] = true
		} else {
			errs = append(errs, fmt.Errorf("%s: %q before, %q after, and no reason", name, before[name], after[name]))
		}
	}
	var texts []string
	for _, r := range p.reasons {
		if !used[r.test] {
			errs = append(errs, fmt.Errorf("%s has a reason to differ, and does not: %s", r.test, r.text))
		}
		texts = append(texts, r.text)
	}
	return strings.Join(texts, "<br>"), errors.Join(errs...)
}
