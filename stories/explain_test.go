package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
)

// Every code of a Job's explanation, with its text. The codes are tried in the order of the
// constants, because several may apply.
func TestExplanation_job(t *testing.T) {
	const indexed = "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 2"
	for _, test := range []struct {
		name, spec string
		happens    func(*world)
		code       explain.Code
		text       string
		until      string
	}{
		{"complete", "completions: 1", func(w *world) { w.settle(); w.End("pod-1", 0); w.settle() },
			explain.JobFinished, "the Job is Complete: CompletionsReached: Reached expected number of succeeded pods", ""},
		{"failed", "completions: 1\nbackoffLimit: 0", func(w *world) { w.settle(); w.End("pod-1", 1); w.settle() },
			explain.JobFinished, "the Job is Failed: BackoffLimitExceeded: Job has reached the specified backoff limit", ""},
		{"stale", "completions: 1", func(w *world) { w.lag(true); w.sync() },
			explain.JobStale, "waiting for the last status write to be observed", ""},
		{"succeeding", indexed + "\nsuccessPolicy: {rules: [{succeededCount: 1}]}", func(w *world) { w.runAll(); w.exitIndexes(0, 1) },
			explain.JobEnding, "the Job succeeds: SuccessPolicy: Matched rules at index 0; deleting 2 pods; 2 pods terminating", ""},
		{"succeeding, all gone", "completions: 1", func(w *world) { w.runAll(); w.End("pod-1", 0) },
			explain.JobEnding, "the Job succeeds: CompletionsReached: Reached expected number of succeeded pods", ""},
		{"failing", "completions: 2\nparallelism: 2\nbackoffLimit: 0", func(w *world) { w.runAll(); w.End("pod-1", 1); w.settle() },
			explain.JobEnding, "the Job fails: BackoffLimitExceeded: Job has reached the specified backoff limit; 1 pod terminating", ""},
		{"failing, pods not observed", "completions: 3\nparallelism: 2\nbackoffLimit: 0", (*world).failUnobserved, explain.JobEnding, "the Job fails: BackoffLimitExceeded: Job has reached the specified backoff limit; deleting 1 pod; the condition is set once all pods are observed and deleted", ""},
		{"being deleted", "completions: 1", func(w *world) { w.DeleteJob(metav1.DeletePropagationForeground) }, explain.JobDeleting, "the Job is being deleted", ""},
		{"pods not observed", "completions: 1", func(w *world) { w.lag(false); w.sync() },
			explain.JobInFlight, "waiting to observe 1 creation and 0 deletions", ""},
		{"suspended", "completions: 1\nsuspend: true", func(*world) {}, explain.JobSuspended, "the Job is suspended", ""},
		{"being suspended", indexed, func(w *world) { w.runAll(); w.edit("suspend: true") },
			explain.JobSuspended, "the Job is suspended; deleting 3 pods", ""},
		{"too many pods", indexed, func(w *world) { w.runAll(); w.edit("parallelism: 1") },
			explain.JobRemoving, "deleting 2 of 3 active pods, because the Job needs fewer", ""},
		{"creating", indexed, func(*world) {}, explain.JobCreating, "creating 3 pods", ""},
		{"creating one", "completions: 1", func(*world) {}, explain.JobCreating, "creating 1 pod", ""},
		{"creating, others wait", indexed, func(w *world) {
			w.runAll()
			w.Vanish("pod-1")
			w.exitIndexes(1, 1)
		}, explain.JobCreating, "creating 1 pod; others are backing off, the first until 12:00:10Z", "12:00:10"},
		{"backing off", "completions: 1", func(w *world) { w.settle(); w.End("pod-1", 1) },
			explain.JobBackingOff, "backing off until 12:00:10Z after 1 failure", "12:00:10"},
		{"backing off, the clock shows another zone", "completions: 1", func(w *world) {
			w.settle()
			w.End("pod-1", 1)
			w.Now = w.Now.In(time.FixedZone("", 3600))
		}, explain.JobBackingOff, "backing off until 12:00:10Z after 1 failure", "12:00:10"},
		{"indexes backing off", indexed, func(w *world) { w.runAll(); w.exitIndexes(1, 1) },
			explain.JobBackingOff, "the next indexes without a pod are backing off, the first until 12:00:10Z", "12:00:10"},
		{"terminating", "completions: 1\npodReplacementPolicy: Failed", func(w *world) { w.runAll(); w.Delete("pod-1", 30) },
			explain.JobAwaitingTermination, "replacements wait for 1 pod to terminate", ""},
		{"terminating, without a replacement", "completions: 2\nparallelism: 2\npodReplacementPolicy: Failed", func(w *world) {
			w.runAll()
			w.Delete("pod-1", 30)
			w.edit("parallelism: 1")
		}, explain.JobRunning, "1 pod active, parallelism 1, 0 of 2 succeeded", ""},
		{"no parallelism", "completions: 1\nparallelism: 0", func(*world) {}, explain.JobNoParallelism, "the Job's parallelism is 0", ""},
		{"running", indexed, func(w *world) { w.runAll(); w.exitIndexes(0, 1) },
			explain.JobRunning, "2 pods active, parallelism 3, 1 of 3 succeeded", ""},
		{"running, an index failed", "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1) },
			explain.JobRunning, "2 pods active, parallelism 3, 0 of 3 succeeded, 1 failed", ""},
		{"running without completions", "parallelism: 2", func(w *world) { w.runAll(); w.End("pod-1", 0) },
			explain.JobRunning, "1 pod active, parallelism 2, 1 succeeded", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			test.happens(w)
			got := explain.Of(mustDecide(t, w.snapshot())).Job()
			until := ""
			if !got.Until.IsZero() {
				until = clock(got.Until)
			}
			if got.Code != test.code || got.Text != test.text || until != test.until {
				t.Errorf("got %s until %q\n%s\nwant %s until %q\n%s", got.Code, until, got.Text, test.code, test.until, test.text)
			}
		})
	}
}

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

// The text of an index depends on the data that is available.
func TestExplanation_indexTexts(t *testing.T) {
	for _, test := range []struct {
		name, spec string
		happens    func(*world)
		opts       []jobfate.Option
		index      int32
		want       string
	}{
		{"failed, by the limit", "backoffLimitPerIndex: 1", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.settle(); w.wait(); w.exitIndexes(1, 1) }, nil, 1,
			"index 1: failed after 2 failures, the limit is 1"},
		{"failed, at once", "backoffLimitPerIndex: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, nil, 1,
			"index 1: failed after 1 failure, the limit is 0"},
		{"failed, pod gone", "backoffLimitPerIndex: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.settle(); w.Vanish("pod-2") }, nil, 1,
			"index 1: failed"},
		{"failed, and a pod is still running", "backoffLimitPerIndex: 0", func(w *world) {
			w.runAll()
			st := w.Job().Status
			st.FailedIndexes = ptrTo("1")
			w.SetStatus(st)
		}, nil, 1,
			"index 1: failed"},
		{"failed, by a rule without a name", "backoffLimitPerIndex: 3\npodFailurePolicy: {rules: [{action: FailIndex, onPodConditions: [{type: DisruptionTarget}]}]}", func(w *world) {
			w.runAll()
			w.Disrupt("pod-2")
			w.exitIndexes(137, 1)
		}, nil, 1, "index 1: failed: its pod matched FailIndex rule 0 on pod condition DisruptionTarget"},
		{"backing off over midnight", "backoffLimitPerIndex: 3", func(w *world) {
			w.runAll()
			w.advance(12*time.Hour - 5*time.Second)
			w.exitIndexes(1, 1)
		}, nil, 1, "index 1: backing off until 2026-01-02T00:00:05Z after 1 failure"},
		{"backing off after ignored failures", "backoffLimitPerIndex: 3\npodFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [9]}}]}", func(w *world) {
			w.runAll()
			w.exitIndexes(9, 1)
			w.settle()
			w.wait()
			w.exitIndexes(9, 1)
		}, nil, 1, "index 1: backing off until 12:00:30Z after 2 failures"},
		{"pending, places taken", "backoffLimitPerIndex: 1\nparallelism: 2", func(w *world) { w.runAll() }, nil, 2,
			"index 2: pending, limited by parallelism"},
		{"pending, suspended", "suspend: true", func(*world) {}, nil, 2,
			"index 2: pending: the Job is suspended"},
		{"pending, the Job backs off", "{}", func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, nil, 1,
			"index 1: pending: backing off until 12:00:10Z after 1 failure"},
		{"its pod terminates as the Job ends", "backoffLimit: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.settle() }, nil, 2,
			"index 2: waiting for pod job-2-3 to terminate"},
		{"its pod is deleted as the Job ends", "backoffLimit: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1) }, nil, 2,
			"index 2: deleting pod job-2-3, because the Job ends"},
		{"its pod is surplus", "{}", func(w *world) { w.runAll(); w.edit("parallelism: 2") }, nil, 0,
			"index 0: deleting pod job-0-1, because the Job needs fewer"},
		{"stopped, the Job ends", "backoffLimit: 0", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.settle() }, nil, 1,
			"index 1: not run, because the Job fails: BackoffLimitExceeded"},
		{"stopped, it failed the Job", "podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [9]}}]}", func(w *world) { w.runAll(); w.exitIndexes(9, 1) }, nil, 1,
			"index 1: not run again; its pod matched FailJob rule 0 on container main, exit code 9"},
		{"stopped, the Job is being deleted", "backoffLimitPerIndex: 3", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.DeleteJob(metav1.DeletePropagationForeground) }, nil, 1,
			"index 1: not run, because the Job is being deleted"},
		{"backing off while suspended has no end", "backoffLimitPerIndex: 3", func(w *world) { w.runAll(); w.exitIndexes(1, 1); w.settle(); w.edit("suspend: true"); w.settle() }, nil, 1,
			"index 1: pending: the Job is suspended"},
		{"pending, with FillFreeSlots", "parallelism: 1\nbackoffLimitPerIndex: 3", func(w *world) { w.runAll(); w.exitIndexes(1, 0); w.settle() }, []jobfate.Option{jobfate.FillFreeSlots()}, 2,
			"index 2: pending, limited by parallelism"},
		{"pending, suspended, with FillFreeSlots", "suspend: true", func(*world) {}, []jobfate.Option{jobfate.FillFreeSlots()}, 2,
			"index 2: pending: the Job is suspended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := strings.TrimSuffix(test.spec, "{}")
			if !strings.Contains(spec, "parallelism") {
				spec += "\nparallelism: 3"
			}
			w := newWorld(t, spec+"\ncompletions: 3\ncompletionMode: Indexed")
			test.happens(w)
			if got := explain.Of(mustDecide(t, w.snapshot(), test.opts...)).Index(test.index).String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
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
