package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// result is the result of one test.
type result struct {
	test    string
	outcome string // pass, fail or skip
	// marks lists the marks that our code printed while the test ran.
	marks  []string
	output string
}

// mark is the prefix of the lines that our code prints for this command. A line contains a word, and
// the controller that printed it.
const mark = "jobfate: "

// made marks a test that has created a controller, and synced a test that has called our function.
const (
	made   = "made"
	synced = "sync"
)

// event is a line of go test -json.
type event struct{ Action, Test, Output string }

// runTests runs go test -json, and returns the results of the tests that have no subtests, in the order of
// their names.
func runTests(cmd *exec.Cmd) ([]result, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	results, rest, readErr := readEvents(out)
	err = cmd.Wait()
	var status *exec.ExitError
	if errors.As(err, &status) && slices.ContainsFunc(results, func(r result) bool { return r.outcome == "fail" }) {
		err = nil // failed tests are a result
	}
	if err = errors.Join(readErr, err); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(cmd.Args[1:], " "), err, errs.String(), rest)
	}
	return results, nil
}

// readEvents reads the output of go test -json. rest is the output that belongs to no test.
func readEvents(r io.Reader) (results []result, rest string, err error) {
	all := tests{madeBy: map[string]string{}}
	var other strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, "", fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if e.Test == "" {
			other.WriteString(e.Output)
		} else {
			all.read(e)
		}
	}
	return all.leaves(), other.String(), lines.Err()
}

// tests holds the tests that have started so far, in order. No suite runs tests in parallel.
type tests struct {
	all     []*result
	running []*result // each is a subtest of the one before
	// madeBy has the names of the tests that created the controllers.
	madeBy map[string]string
}

func (t *tests) read(e event) {
	switch e.Action {
	case "run":
		r := &result{test: e.Test, outcome: "fail"} // until the test passes or is skipped
		t.all, t.running = append(t.all, r), append(t.running, r)
	case "pass", "fail", "skip":
		t.find(e.Test).outcome = e.Action
		t.running = slices.DeleteFunc(t.running, func(r *result) bool { return r.test == e.Test })
	case "output":
		word, marked := strings.CutPrefix(e.Output, mark)
		switch n := len(t.running); {
		case strings.Contains(e.Output, " feature_gate.go:"):
			// Kubernetes logs each gate that an emulated release switches.
		case !marked:
			t.find(e.Test).output += e.Output
		case n > 0:
			// go test attributes the output of a subtest to its parent while the parent's log
			// is used.
			t.mark(t.running[n-1], strings.TrimSpace(word))
		}
	}
}

// mark adds a mark to a test. It ignores controllers that another test created and whose workers
// still run.
func (t *tests) mark(r *result, text string) {
	word, controller, _ := strings.Cut(text, " ")
	if word == made {
		t.madeBy[controller] = r.test
	} else if strings.HasPrefix(r.test+"/", t.madeBy[controller]+"/") {
		r.marks = append(r.marks, word)
	}
}

func (t *tests) find(name string) *result {
	i := slices.IndexFunc(t.all, func(r *result) bool { return r.test == name })
	if i < 0 {
		return &result{}
	}
	return t.all[i]
}

// leaves returns the tests without subtests, in the order of their names.
func (t *tests) leaves() (leaves []result) {
	for _, r := range t.all {
		if !slices.ContainsFunc(t.all, func(o *result) bool { return strings.HasPrefix(o.test, r.test+"/") }) {
			slices.Sort(r.marks)
			r.marks = slices.Compact(r.marks)
			leaves = append(leaves, *r)
		}
	}
	slices.SortFunc(leaves, func(a, b result) int { return strings.Compare(a.test, b.test) })
	return leaves
}

// runUnit reports the unit tests of the pinned release.
func runUnit(ctx context.Context, r release) (*report, error) {
	_, overlay, done, err := prepare(ctx, r, r.version)
	if err != nil {
		return nil, err
	}
	defer done()
	return unitReport(ctx, overlay, r)
}

// showUnit shows Kubernetes' package of the Job controller as ./conformance/suites/unit, with the functions of
// our syncjob.go.
func showUnit(o *overlay, r release) error {
	to := filepath.Join(r.module, "conformance/suites/unit")
	if err := o.show(filepath.Join(r.dir, "pkg", "controller", "job"), to, ".go"); err != nil {
		return err
	}
	for _, theirs := range []struct{ file, receiver, name string }{
		{"job_controller.go", "Controller", "syncJob"},
		{"tracking_utils.go", "", "newUIDTrackingExpectations"},
	} {
		renamed := renameFunc(theirs.receiver, theirs.name, theirs.name+"OfKubernetes")
		if err := o.change(filepath.Join(to, theirs.file), renamed); err != nil {
			return err
		}
	}
	workloads := "workloads.go"
	if r.minor() < 36 {
		workloads = "noworkloads.go"
	}
	for _, ours := range []string{"syncjob.go", "gates.go", workloads} {
		if err := o.enable(filepath.Join(to, ours)); err != nil {
			return err
		}
	}
	return nil
}

// unitReport runs the tests with an overlay, and reports those that call syncJob.
func unitReport(ctx context.Context, overlay string, r release) (*report, error) {
	all, err := r.test(ctx, overlay, "./conformance/suites/unit")
	if err != nil {
		return nil, err
	}
	var results []result
	for _, t := range all {
		if i := slices.Index(t.marks, synced); i >= 0 {
			t.marks = slices.Delete(t.marks, i, i+1)
			results = append(results, t)
		}
	}
	return &report{
		name:    "unit",
		title:   "Unit tests of the Job controller",
		command: "go -C test/kubernetes run ./conformance/suites -write unit",
		about: fmt.Sprintf("These are the tests of `k8s.io/kubernetes/pkg/controller/job` %s that call `syncJob`, "+
			"with jobfate in the place of that function. The other %d tests of the package call single functions "+
			"of Kubernetes and show nothing about jobfate.", r.version, len(all)-len(results)),
		results: results,
	}, nil
}
