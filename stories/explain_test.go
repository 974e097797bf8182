package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
)

// Every code of an index's explanation, with its text.
func TestExplanation_index(t *testing.T) {
	w := newWorld(t, `
completions: 12
parallelism: 9
completionMode: Indexed
backoffLimitPerIndex: 2
podFailurePolicy:
  rules:
  - {name: Evicted, action: Ignore, onPodConditions: [{type: DisruptionTarget}]}
  - {name: ExitCode42, action: FailIndex, onExitCodes: {containerName: main, operator: In, values: [42]}}`)
	w.runAll()
	w.exitIndexes(1, 3, 5)
	w.advance(time.Second) // 12:00:01
	w.exitIndexes(0, 0)
	w.settle() // index 9 takes a free place
	w.wait()   // 12:00:10
	w.exitIndexes(1, 5)
	w.settle()
	w.advance(10 * time.Second)
	w.exitIndexes(1, 3) // for the second time, at 12:00:20
	w.exitIndexes(42, 7)
	w.Start(w.ofIndex(8))
	w.Delete(w.ofIndex(8), 300)
	w.settle() // index 10 takes a free place
	w.advance(11 * time.Second)
	d := mustDecide(t, w.snapshot(), w.opts...)
	var got []string
	for r := range explain.Of(d).Indexes() {
		got = append(got, string(r.Code)+": "+r.String())
	}
	want := []string{
		"Active: index 1: active, pod job-1-2",
		"Active: index 2: active, pod job-2-3",
		"BackingOff: index 3: backing off until 12:00:40Z after 2 failures",
		"Active: index 4: active, pod job-4-5",
		"Creating: index 5: creating a pod",
		"Active: index 6: active, pod job-6-7",
		"Failed: index 7: failed: its pod matched FailIndex rule 1 (ExitCode42) on container main, exit code 42",
		"Terminating: index 8: waiting for pod job-8-9 to terminate",
		"Starting: index 9: pod job-9-10 must still start: its phase is Pending, and it has no node",
		"Starting: index 10: pod job-10-13 must still start: its phase is Pending, and it has no node",
		"Pending: index 11: pending, behind lower indexes that are backing off",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r := explain.Of(d).Index(3); r.Failures != 2 || r.Pod != "job-3-11" || clock(r.Until) != "12:00:40" || r.LastFailure.Match.Matched() {
		t.Errorf("index 3: %+v", r)
	}
	for index, want := range map[int32]string{0: "Completed: index 0: completed", 12: "Unknown: index 12: not an index of the Job", -1: "Unknown: not an index of the Job"} {
		if r := explain.Of(d).Index(index); string(r.Code)+": "+r.String() != want {
			t.Errorf("got %s: %s, want %s", r.Code, r, want)
		}
	}
	for range explain.Of(d).Indexes() { // the loop may stop early
		break
	}
}

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

// The explanation of a finished Job says how each index ended.
func TestExplanation_finishedIndexedJob(t *testing.T) {
	w := newWorld(t, "completions: 5\nparallelism: 5\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nmaxFailedIndexes: 0")
	w.runAll()
	w.exitIndexes(0, 0, 3)
	w.settle()
	w.exitIndexes(1, 1)
	w.settle()
	w.exitIndexes(143, 2, 4)
	w.settle()
	d := w.last
	if explain.Of(d).Job().Code != explain.JobFinished || w.Job().Status.CompletedIndexes != "0,3" || *w.Job().Status.FailedIndexes != "1" {
		t.Fatalf("%s, completed %q, failed %q", explain.Of(d).Job().Code, w.Job().Status.CompletedIndexes, *w.Job().Status.FailedIndexes)
	}
	for index, want := range map[int32]explain.Code{0: explain.IndexCompleted, 1: explain.IndexFailed, 2: explain.IndexStopped, 3: explain.IndexCompleted, 4: explain.IndexStopped} {
		if got := explain.Of(d).Index(index); got.Code != want {
			t.Errorf("index %d is %s: %s, want %s", index, got.Code, got.Text, want)
		}
	}
}

// A pod beyond completions does not affect the explanation of any index.
func TestExplanation_podBeyondCompletions(t *testing.T) {
	w := newWorld(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed")
	w.runAll()
	w.Edit("pod-2", func(pod *corev1.Pod) { pod.Annotations[batchv1.JobCompletionIndexAnnotation] = "7" })
	var got []string
	for r := range explain.Of(mustDecide(t, w.snapshot())).Indexes() {
		got = append(got, r.String())
	}
	if want := []string{"index 0: active, pod job-0-1", "index 1: pending: deleting 1 of 2 active pods, because the index is not below completions"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// While the last status write is not observed, the state of an index is unknown. The
// explanation does not say that the Job has no such index.
func TestExplanation_staleIndexedJob(t *testing.T) {
	w := newWorld(t, "completions: 2\ncompletionMode: Indexed")
	w.lag(true)
	w.sync()
	d := mustDecide(t, w.snapshot())
	if r := explain.Of(d).Index(0); explain.Of(d).Job().Code != explain.JobStale || strings.Contains(r.Text, "not an index") {
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
	w.lag(false)
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
