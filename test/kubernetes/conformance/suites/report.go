package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// meanings explain the marks. Their order is that of the generated table.
var meanings = []struct{ mark, text string }{
	{"uid", "The pods of the test have no UID. No API server stores such a pod, and jobfate rejects it. Each " +
		"pod gets its name as its UID."},
	{"interim", "The gates `JobManagedBy` and `JobPodReplacementPolicy` are off, as in an emulated 1.33 or " +
		"earlier. Kubernetes then writes the terminal condition alone; the interim condition of jobfate is removed."},
	{"terminating", "The same two gates are off. The terminal condition then does not wait for terminating " +
		"pods, and jobfate gets 0 as their number."},
	{"reason", "The gate `JobSuccessPolicy` is off. The condition `Complete` then has neither reason nor " +
		"message, and those of jobfate are removed."},
	{"successPolicy", "The gate `JobSuccessPolicy` is off. `spec.successPolicy` is removed from the Job."},
	{"managedBy", "The gate `JobManagedBy` is off. `spec.managedBy` is removed from the Job."},
	{"startTime", "The gate `MutableSchedulingDirectivesForSuspendedJobs` is off. Kubernetes then keeps the " +
		"start time of a suspended Job. jobfate removes it, and the test puts it back."},
	{"podGroup", "The alpha gate `WorkloadWithJob` is on. Kubernetes' own code creates the Workload and the " +
		"PodGroup, and the pods that jobfate creates are added to the group."},
}

// report is a section of docs/compatibility.md, and a file with the result of each test.
type report struct {
	name    string // the name of the section
	title   string
	command string
	about   string
	results []result
	reasons []reason
}

// reason explains why a test and its subtests fail.
type reason struct{ test, text string }

// passed is the number of tests that pass.
func (r *report) passed() (n int) {
	for _, t := range r.results {
		if t.outcome == "pass" {
			n++
		}
	}
	return n
}

// summary returns the numbers of results as a sentence.
func (r *report) summary() string {
	passed, changed := r.passed(), 0
	for _, t := range r.results {
		if t.outcome == "pass" && len(t.marks) > 0 {
			changed++
		}
	}
	text := fmt.Sprintf("%d tests: %d pass", len(r.results), passed)
	if changed > 0 {
		text += fmt.Sprintf(", %d of them with a change listed below", changed)
	}
	return text + fmt.Sprintf("; %d fail.", len(r.results)-passed)
}

// render returns the section, with the tests that fail.
func (r *report) render() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n```sh\n%s\n```\n\n%s\n", r.title, r.about, r.command, r.summary())
	if used := r.meanings(); used != "" {
		fmt.Fprintf(&b, "\n| change | what it means |\n| --- | --- |\n%s", used)
	}
	failures, err := r.failures()
	if failures != "" {
		fmt.Fprintf(&b, "\n| test | result |\n| --- | --- |\n%s", failures)
	}
	fmt.Fprintf(&b, "\n[All results](../%s), test by test.\n", r.file())
	return b.String(), err
}

// file is the path of the file with all results, relative to the root of the repository.
func (r *report) file() string {
	return "test/kubernetes/conformance/suites/results/" + r.name + ".txt"
}

// list returns all results, one in a line.
func (r *report) list() string {
	var b strings.Builder
	for _, t := range r.results {
		fmt.Fprintf(&b, "%s: %s\n", t.test, r.outcome(t))
	}
	return b.String()
}

// outcome returns the result of a test, with the reason or the marks.
func (r *report) outcome(t result) string {
	switch {
	case t.outcome != "pass":
		why, _ := r.reason(t.test)
		return t.outcome + ": " + why.text
	case len(t.marks) > 0:
		return "pass (" + strings.Join(t.marks, ", ") + ")"
	}
	return "pass"
}

// failures returns the rows of the tests that fail, those with the same result in one row. It returns
// an error if one of them has no reason, or if a test with a reason passes.
func (r *report) failures() (rows string, err error) {
	var errs []error
	given := map[reason]bool{}
	var outcomes []string
	tests := map[string][]string{} // by outcome
	for _, t := range r.results {
		if t.outcome == "pass" {
			continue
		}
		why, found := r.reason(t.test)
		if !found {
			errs = append(errs, fmt.Errorf("%s: %s, without a known reason:\n%s", t.test, t.outcome, t.output))
		}
		given[why] = true
		outcome := r.outcome(t)
		if tests[outcome] == nil {
			outcomes = append(outcomes, outcome)
		}
		tests[outcome] = append(tests[outcome], code(t.test))
	}
	for _, outcome := range outcomes {
		rows += fmt.Sprintf("| %s | %s |\n", strings.Join(tests[outcome], "<br>"), outcome)
	}
	for _, why := range r.reasons {
		if !given[why] {
			errs = append(errs, fmt.Errorf("%s passes or does not exist, but has a reason to fail: %s",
				why.test, why.text))
		}
	}
	return rows, errors.Join(errs...)
}

func (r *report) meanings() string {
	var b strings.Builder
	for _, m := range meanings {
		if slices.ContainsFunc(r.results, func(t result) bool { return slices.Contains(t.marks, m.mark) }) {
			fmt.Fprintf(&b, "| %s | %s |\n", m.mark, m.text)
		}
	}
	return b.String()
}

func (r *report) reason(test string) (reason, bool) {
	for _, why := range r.reasons {
		if test == why.test || strings.HasPrefix(test, why.test+"/") {
			return why, true
		}
	}
	return reason{}, false
}

// code puts a name into a cell of a table.
func code(name string) string { return "`" + strings.ReplaceAll(name, "|", `\|`) + "`" }
