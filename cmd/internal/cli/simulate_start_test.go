package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

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
