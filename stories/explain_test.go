package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
)

// Consecutive indexes with the same explanation and no pod are one range.
func TestExplanation_neighbours(t *testing.T) {
	w := newWorld(t, "completions: 100\nparallelism: 2\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	w.SetStatus(batchv1.JobStatus{StartTime: &w.Job().CreationTimestamp, Succeeded: 10, CompletedIndexes: "0-9", FailedIndexes: ptrTo("10-19,42")})
	d := mustDecide(t, w.snapshot())
	var got []string
	for r := range explain.Of(d).Indexes() {
		got = append(got, r.String())
	}
	want := []string{
		"indexes 10-19: failed", "index 20: creating a pod", "index 21: creating a pod",
		"indexes 22-41: pending, limited by parallelism", "index 42: failed", "indexes 43-99: pending, limited by parallelism",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r := explain.Of(d).Index(15); !r.Indexes.Equal(indexset.Of(15)) || r.Code != explain.IndexFailed {
		t.Errorf("index 15: %+v", r)
	}
}

// While the last status write is not observed, the state of an index is unknown. The
// explanation does not say that the Job has no such index.
func TestExplanation_staleIndexedJob(t *testing.T) {
	w := newWorld(t, "completions: 2\ncompletionMode: Indexed")
	w.Lag("pods,jobs")
	w.sync()
	d := mustDecide(t, w.snapshot())
	if r := explain.Of(d).Index(0); explain.Of(d).Job().Code != explain.JobStale || r.Code != explain.IndexPending {
		t.Errorf("%s, and index 0: %q", explain.Of(d).Job().Code, r.Text)
	}
	// The results in the stale status still hold.
	s := w.snapshot()
	s.Job = s.Job.DeepCopy()
	s.Job.Status.CompletedIndexes = "0"
	if r := explain.Of(mustDecide(t, s)).Index(0); r.Code != explain.IndexCompleted {
		t.Errorf("index 0 that has completed is %s: %s", r.Code, r.Text)
	}
}

// Pods of a Job that fails are not observed yet.
func TestExplanation_failingUnobserved(t *testing.T) {
	w := newWorld(t, "completions: 3\nparallelism: 2\nbackoffLimit: 0")
	w.runAll()
	w.edit("parallelism: 3")
	w.Lag("pods")
	w.sync()
	w.End("pod-1", 1)
	w.cache.ShowPod("pod-1")
	e := explain.Of(mustDecide(t, w.snapshot()))
	if got, want := explained(e.Job()), "Ending: the Job fails: BackoffLimitExceeded: Job has reached the specified backoff limit; deleting 1 pod; the condition is set once all pods are observed and deleted"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := explained(e.Prospect()), "Failure: no, it is decided that the Job fails"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Times are in UTC, whatever zone the clock shows.
func TestExplanation_zone(t *testing.T) {
	w := newWorld(t, "completions: 1")
	w.settle()
	w.End("pod-1", 1)
	w.Now = w.Now.In(time.FixedZone("", 3600))
	if got, want := explained(explain.Of(mustDecide(t, w.snapshot())).Job()), "BackingOff until 12:00:10: backing off until 12:00:10Z after 1 failure"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The status says that an index has failed, and its pod is still running.
func TestExplanation_failedIndexRuns(t *testing.T) {
	w := newWorld(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	w.runAll()
	st := w.Job().Status
	st.FailedIndexes = ptrTo("1")
	w.SetStatus(st)
	if got, want := explain.Of(mustDecide(t, w.snapshot())).Index(1).String(), "index 1: failed"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The zero explanation says nothing.
func TestExplanation_zero(t *testing.T) {
	var e explain.Explanation
	if e.Prospect() != (explain.Reason{}) || e.Waits() != nil {
		t.Errorf("got %v, %v", e.Prospect(), e.Waits())
	}
}

// An index is looked up, whether or not the loop over all lists it.
func TestExplanation_ofOneIndex(t *testing.T) {
	w := newWorld(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 2")
	w.runAll()
	w.exitIndexes(0, 0)
	w.exitIndexes(1, 1)
	e := explain.Of(mustDecide(t, w.snapshot()))
	for index, want := range map[int32]string{0: "Completed: index 0: completed", 3: "Unknown: index 3: not an index of the Job", -1: "Unknown: not an index of the Job"} {
		if r := e.Index(index); string(r.Code)+": "+r.String() != want {
			t.Errorf("got %s: %s, want %s", r.Code, r, want)
		}
	}
	if r := e.Index(1); r.Failures != 1 || r.Pod != "job-1-2" || clock(r.Until) != "12:00:10" || r.LastFailure.Match.Matched() {
		t.Errorf("index 1: %+v", r)
	}
	for range e.Indexes() { // the loop may stop early
		break
	}
}
