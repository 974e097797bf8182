package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// TestUsageScenario runs the scenario in the usage, with some of its pods at once and with all.
func TestUsageScenario(t *testing.T) {
	_, text, _ := strings.Cut(runWith("", "simulate", "-h").Stdout, "Every field is optional:\n")
	text, _, ok := strings.Cut(text, "\nWith an existing Job")
	if !ok || !strings.Contains(text, "forceDelete") {
		t.Fatalf("got %q, want the scenario of the usage", text)
	}
	some := []string{simulated("job"), "--set", "spec.completions=8", "--set", "spec.backoffLimitPerIndex=20"}
	all := []string{tempFile(t, "job.yaml", jobWith("  completions: 8\n  parallelism: 8\n  completionMode: Indexed\n"))}
	checkParts(t, "some at once", runWith(text, append([]string{"simulate", "--scenario", "-"}, some...)...), exitOK, []string{
		"suspend is set to true", "pod retry-2-", "are lost", "are unreachable", "the node of pod retry-3-7 is removed", "pod retry-4-8 is deleted by force", "Complete after "})
	checkParts(t, "all at once", runWith(text, append([]string{"simulate", "--scenario", "-"}, all...)...), exitOK, []string{
		"suspend is set to true", "suspend is set to false", "pod a-2-", "is evicted", "the node of pod a-4-", "is lost", "is deleted by force"})
}

// checkResult checks the exit status and a part of each output. An empty part stands for no output.
func checkResult(t *testing.T, got result, status int, stdout, stderr string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("got status %d and %q, want %d", got.Status, got.Stderr, status)
	}
	checkPart(t, "stdout", got.Stdout, stdout)
	checkPart(t, "stderr", got.Stderr, stderr)
}

// TestRecorderIsBounded checks that a simulation ends when its statuses take too much memory.
func TestRecorderIsBounded(t *testing.T) {
	r := recorder{changes: true, size: mostChanges}
	if err := r.stored(simulation.Status{}); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	r.size++
	if err := r.stored(simulation.Status{}); err == nil || !strings.Contains(err.Error(), "the statuses take more than 256 MiB") {
		t.Errorf("got %v, want an error about the size of the statuses", err)
	}
}

// TestFoldKeepsCount checks that the counts in folded lines add up to all events.
func TestFoldKeepsCount(t *testing.T) {
	result := &simulation.Result{}
	tell := timeline{Result: result, indexed: true}
	for i := range int32(300) {
		at := simulation.Time(i) * simulation.Time(time.Second)
		end := at + simulation.Time(time.Duration(1+i%7)*time.Second)
		result.Lanes = append(result.Lanes, simulation.Lane{Index: i, Pods: []simulation.Pod{{Started: &at, Ended: &end, Outcome: simulation.PodSucceeded}}})
	}
	lines, all := folded(tell.lines(), true)
	if all != 600 {
		t.Errorf("got %d lines, want 600", all)
	}
	sums := map[string]int{}
	for _, l := range lines {
		for _, s := range l.sums {
			sums[s.what.one] += s.n
		}
	}
	if sums["starts"] != 300 || sums["succeeds"] != 300 {
		t.Errorf("got %v, want 300 of each", sums)
	}
}
