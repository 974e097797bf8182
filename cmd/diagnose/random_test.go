package diagnose_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// For any snapshot, each failed pod is in one group of the digest, each index is counted once and is in one group, and
// the reason for the decision is among the causes.
func TestRandom_totals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(t, "snapshot")
		d, err := decide.Job(s)
		if err != nil {
			t.Fatal(err)
		}
		e := diagnose.Of(d)
		code, n := e.Job().Code, 0
		for _, c := range e.Causes() {
			if c.Code == code {
				n++
			}
		}
		// Other rows say more than the reason for the decision.
		said := map[explain.Code]bool{explain.JobRunning: true, explain.JobSuspended: true, explain.JobFinished: true}
		if n < 1 && !said[code] || n > 1 {
			t.Fatalf("%s occurs %d times in %v", code, n, e.Causes())
		}
		checkDigest(t, e.Failures())
		checkProposals(t, e)
		for _, e := range []explain.Explanation{e.Explanation, explain.Of(d)} {
			checkTotals(t, s.Job, e)
		}
	})
}

// Each failed pod is in one group, and the largest group comes first.
func checkDigest(t *rapid.T, d diagnose.Digest) {
	seen, size := map[string]bool{}, d.Given
	for _, g := range d.Groups {
		for _, name := range g.Pods {
			seen[name] = true
		}
		if len(g.Pods) > size || len(g.Pods) == 0 {
			t.Fatalf("a group has %d pods: %s", len(g.Pods), d.Line(9))
		}
		size = len(g.Pods)
	}
	if len(seen) != d.Given {
		t.Fatalf("%d pods in the groups of %d: %s", len(seen), d.Given, d.Line(9))
	}
}

// A change gains something, and no more than the failed pods that are given.
func checkProposals(t *rapid.T, e diagnose.Diagnosis) {
	all, gained := e.Proposals(), 0
	for _, p := range all.Patterns {
		if p.NotCounted+p.Later < 0 || (p.NotCounted+p.Later > 0) != (p.Gain != "") {
			t.Fatalf("%+v", p)
		}
		gained += p.NotCounted + p.Later
	}
	if gained > e.Failures().Given || (gained > 0) != (all.Patch != nil) || len(all.Immutable) > 0 && all.Patch == nil {
		t.Fatalf("%d of %d pods: %+v", gained, e.Failures().Given, all)
	}
}

// No total is negative, and those of an Indexed Job count each index once.
func checkTotals(t rapid.TB, job *batchv1.Job, e explain.Explanation) {
	totals := e.Totals()
	sum := 0
	for _, n := range []int{totals.Done, totals.Running, totals.Starting, totals.Waiting, totals.Stuck, totals.Terminating, totals.BackingOff, totals.Pending, totals.Failed, totals.Stopped} {
		if n < 0 {
			t.Fatalf("%+v", totals)
		}
		sum += n
	}
	if mode := job.Spec.CompletionMode; mode == nil || *mode != "Indexed" {
		return
	}
	inGroups := totals.Done
	for _, g := range e.Groups() {
		inGroups += g.Indexes.Len()
	}
	if want := int(*job.Spec.Completions); sum != want || inGroups != want {
		t.Fatalf("%+v count %d, the groups hold %d, want %d", totals, sum, inGroups, want)
	}
}

// A caller's status write that is not observed ranks before the causes in the stale Job. The
// zero Diagnosis has no cause.
func TestCause_own(t *testing.T) {
	job := decidetest.SpecJob(t, "completions: 3\nparallelism: 3")
	in := decide.Snapshot{Job: job, Pods: []*corev1.Pod{decidetest.PodIn(job, 1, corev1.PodRunning)}, Now: job.CreationTimestamp.Time}
	for _, c := range []struct {
		inFlight decide.InFlight
		want     explain.Code
	}{
		{decide.InFlight{Status: true, Creations: 1}, explain.JobStale},
		{decide.InFlight{Creations: 1}, explain.JobInFlight},
		{decide.InFlight{}, explain.JobCreating},
	} {
		in.InFlight = c.inFlight
		d, err := decide.Job(in)
		if got := diagnose.Of(d).Cause().Code; err != nil || got != c.want {
			t.Errorf("%+v: got %s and %v, want %s", c.inFlight, got, err, c.want)
		}
	}
	if zero := (diagnose.Diagnosis{}); zero.Cause().Code != "" || len(zero.Causes()) != 0 || zero.Totals() != (explain.Totals{}) || zero.Groups() != nil {
		t.Error("the zero Diagnosis is not empty")
	}
}
