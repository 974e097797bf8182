package explain_test

import (
	"slices"
	"strings"
	"testing"
)

const indexedSpec = "completionMode: Indexed\ncompletions: 12\nparallelism: 6\nbackoffLimitPerIndex: 1"

const failedAt = `---
status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, finishedAt: "2026-05-01T12:29:5#Z"}}}]}`

func failedPod(n int, second string) string {
	return aPod(n, strings.Replace(failedAt, "#", second, 1))
}

// The totals of a Job in one line.
func TestTotals(t *testing.T) {
	for _, test := range []struct {
		reason, want string
		objects      []string
	}{
		{"an Indexed Job with something of everything", "done 3 · running 1 · stuck 2 · backing off 2 · pending 3 · failed 1",
			[]string{theJob("", indexedSpec, "active: 3\nsucceeded: 3\ncompletedIndexes: \"7-9\"\nfailedIndexes: \"3\"\nfailed: 2"),
				aPod(0, running), aPod(1, unscheduled("Unschedulable", "no")), aPod(2, waitingFor("ErrImagePull", "no")), failedPod(4, "5"), failedPod(5, "6")}},
		{"nothing yet", "done 0 · pending 12", []string{theJob("", indexedSpec, "")}},
		{"an Indexed Job without a limit per index backs off as a whole", "done 0 · backing off 1 · pending 2",
			[]string{theJob("", "completionMode: Indexed\ncompletions: 3\nparallelism: 1", ""), failedPod(0, "9")}},
		{"pods", "done 1 · running 1 · stuck 1 · pending 2 · failed 1", []string{theJob("", "completions: 5\nparallelism: 2", "active: 2\nsucceeded: 1\nfailed: 1"),
			aPod(0, running), aPod(1, unscheduled("Unschedulable", "no"))}},
		{"pods that back off", "done 0 · running 1 · backing off 2 · failed 1", []string{theJob("", "", "active: 1"), aPod(0, running), failedPod(1, "9")}},
		{"pods that terminate", "done 0 · terminating 1 · pending 1", []string{theJob("", "completions: 1\nparallelism: 1\npodReplacementPolicy: Failed", ""),
			aPod(0, "deletionTimestamp: \"2026-05-01T12:30:20Z\"\n"+running)}},
		{"a Job that has failed", "done 2 · failed 7 · not run 1", []string{theJob("", "", "succeeded: 2\nfailed: 7\nconditions: [{type: Failed, status: \"True\"}]")}},
		{"a Job that has succeeded counts no more pods", "done 1", []string{strings.Replace(theJob("", "", "succeeded: 1\nconditions: [{type: Complete, status: \"True\"}]"), "completions: 3", "completions: 1", 1),
			aPod(0, "---\nstatus: {phase: Succeeded}")}},
		{"an Indexed Job that has failed", "done 1 · failed 1 · not run 10", []string{theJob("", indexedSpec,
			"succeeded: 1\ncompletedIndexes: \"0\"\nfailedIndexes: \"5\"\nfailed: 2\nconditions: [{type: Failed, status: \"True\"}]")}},
		{"no completions: the pods that are missing are pending", "done 0 · running 1 · pending 2",
			[]string{strings.Replace(theJob("", "", "active: 1"), "completions: 3", "", 1), aPod(0, running)}},
	} {
		if got := explained(t, test.objects...).Totals().String(); got != test.want {
			t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
		}
	}
}

// A terminating pod whose replacement waits for its end does not also back off, although the Job
// does.
func TestTotals_aTerminatingPodDoesNotBackOff(t *testing.T) {
	terminating := aPod(0, "deletionTimestamp: \"2026-05-01T12:30:20Z\"\n"+running)
	for _, test := range []struct{ mode, want string }{
		{"", "done 0 · running 1 · terminating 1 · backing off 1 · pending 1 · failed 1"},
		{"completionMode: Indexed\ncompletions: 4\n", "done 0 · running 1 · terminating 1 · backing off 1 · pending 1"},
	} {
		job := theJob("", test.mode+"podReplacementPolicy: Failed", "active: 1")
		if got := explained(t, job, terminating, failedPod(1, "9"), aPod(2, running)).Totals().String(); got != test.want {
			t.Errorf("%s: got %s, want %s", test.mode, got, test.want)
		}
	}
}

// Indexes with the same state form one group. Groups that need attention come first.
func TestGroups(t *testing.T) {
	e := explained(t, theJob("", indexedSpec, "active: 3\nsucceeded: 3\ncompletedIndexes: \"7-9\"\nfailedIndexes: \"3\"\nfailed: 2"),
		aPod(0, running), aPod(1, unscheduled("Unschedulable", "no CPU")), aPod(2, unscheduled("Unschedulable", "no GPU")), failedPod(4, "6"), failedPod(5, "5"), aPod(10, running))
	var got []string
	for _, g := range e.Groups() {
		got = append(got, string(g.Code)+" "+g.String())
	}
	want := []string{
		"Failed index 3: failed",
		"Stuck indexes 1,2: pods cannot be scheduled",
		"BackingOff indexes 4,5: backing off, the first until 12:30:05Z",
		"Active indexes 0,10: active",
		"Pending indexes 6,11: pending, behind lower indexes that are backing off",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := e.Index(1).String(); got != "index 1: pod train-1 cannot be scheduled: no CPU" {
		t.Errorf("got %s", got)
	}
}
