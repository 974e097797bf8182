package stories

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

// The pod cache was stale after a finalizer was removed, and the pod was counted twice.
func stalePods(t *testing.T) {
	w := newWorld(t, "completions: 3\nparallelism: 3")
	w.runAll()
	w.End("pod-1", 1)
	w.End("pod-2", 0)
	w.sync()
	stale := w.snapshot()
	stale.Pods = []*corev1.Pod{podIn(w.Job(), 1, corev1.PodFailed), podIn(w.Job(), 2, corev1.PodSucceeded), w.Pods()[2]}
	stale.InFlight.Stripped = []types.UID{"pod-1", "pod-2"}
	d := mustDecide(t, stale)
	if len(d.Strip) != 0 || d.Status != nil && (d.Status.Failed != 1 || d.Status.Succeeded != 1 || len(d.Status.UncountedTerminatedPods.Failed) != 0) {
		t.Errorf("a stale snapshot: %d to strip, status %s; want nothing", len(d.Strip), toJSON(d.Status))
	}
	// Without InFlight.Stripped, Decide cannot know that the finalizers are removed.
	stale.InFlight.Stripped = nil
	if d := mustDecide(t, stale); len(d.Strip) != 2 {
		t.Errorf("without InFlight: %d to strip, want 2", len(d.Strip))
	}
}

// Above 500 pods, UIDs were dropped while the pods still carried the finalizer. In this
// test the removal of every finalizer fails.
func above500(t *testing.T) {
	for _, n := range []int{499, 500, 501} {
		w := newWorld(t, fmt.Sprintf("completions: %[1]d\nparallelism: %[1]d", n+10))
		w.runAll()
		for _, pod := range w.alive()[:min(n, 500)] {
			w.End(pod.UID, 0)
		}
		st := w.Job().Status
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for _, pod := range w.Pods()[:min(n, 500)] {
			st.UncountedTerminatedPods.Succeeded = append(st.UncountedTerminatedPods.Succeeded, pod.UID)
		}
		w.SetStatus(st)
		if n > 500 {
			w.End(w.alive()[0].UID, 0)
		}
		for range 3 {
			d := mustDecide(t, w.snapshot())
			held := len(w.Job().Status.UncountedTerminatedPods.Succeeded)
			if d.Status != nil {
				held = len(d.Status.UncountedTerminatedPods.Succeeded)
			}
			if held != min(n, 500) || len(d.Strip) < held {
				t.Errorf("%d pods: %d are listed and %d to strip, want %d of each at least", n, held, len(d.Strip), min(n, 500))
			}
		}
	}
}

// Jobs finished before all their pods were observed or had lost their finalizer.
func noEndBeforeAllPodsAreObserved(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	done := podIn(job, 1, corev1.PodSucceeded)
	for name, f := range map[string]jobfate.InFlight{"creations": {Creations: 1}, "deletions": {Deletions: 1}} {
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{done}, Now: job.CreationTimestamp.Time, InFlight: f})
		if s := decidetest.Settle(d, d.Strip...); s.Finished || explain.Of(d).Job().Code != explain.JobInFlight {
			t.Errorf("%s in flight: finished %t, %s; want false, %s", name, s.Finished, explain.Of(d).Job().Code, explain.JobInFlight)
		}
	}
	// An Indexed Job has no UID of a succeeded pod in its lists, but waits for the
	// finalizers too.
	for _, mode := range []string{"NonIndexed", "Indexed"} {
		job := specJob(t, "completions: 1\ncompletionMode: "+mode)
		done := podIn(job, 1, corev1.PodSucceeded)
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{done}, Now: job.CreationTimestamp.Time})
		if s := decidetest.Settle(d); s.Finished {
			t.Errorf("%s: finished with a finalizer left", mode)
		}
		if s := decidetest.Settle(d, done); !s.Finished {
			t.Errorf("%s: not finished once all finalizers are gone", mode)
		}
	}
	// FailureTarget is not stored while one of the Job's pods could not be deleted.
	w := newWorld(t, "completions: 2\nparallelism: 2\nbackoffLimit: 0")
	w.runAll()
	w.End("pod-1", 1)
	d := mustDecide(t, w.snapshot())
	if r := d.Revise(jobfate.Undone{Deletions: []types.UID{"pod-2"}}); len(d.Status.Conditions) != 1 || len(r.Status.Conditions) != 0 || r.Status.Active != 1 {
		t.Errorf("with all pods deleted: %v; with one left: %v and %d active; want one, none and 1", d.Status.Conditions, r.Status.Conditions, r.Status.Active)
	}
}

// The finalizer of an orphan was never removed, or a failed removal was not retried.
func removalIsRetried(t *testing.T) {
	for _, state := range []string{"finished", "being deleted"} {
		job := specJob(t, "completions: 1\nparallelism: 1")
		pod, other := podIn(job, 1, corev1.PodRunning), podIn(job, 2, corev1.PodFailed)
		if state == "finished" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		} else {
			job.DeletionTimestamp = &job.CreationTimestamp
			job.Finalizers = []string{metav1.FinalizerDeleteDependents}
			job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{other.UID}}
		}
		s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod, other}, Now: job.CreationTimestamp.Time}
		for range 3 {
			if d := mustDecide(t, s); len(d.Strip) != 2 || len(d.Create)+len(d.Delete) != 0 {
				t.Errorf("%s: %d to strip, %d to create, %d to delete; want 2, 0, 0", state, len(d.Strip), len(d.Create), len(d.Delete))
			}
		}
		s.Pods = []*corev1.Pod{without(pod), without(other)}
		if d := mustDecide(t, s); len(d.Strip) != 0 {
			t.Errorf("%s: %d to strip although none has the finalizer", state, len(d.Strip))
		}
	}
	// Pods without an owner, and pods that the Job no longer selects, lose their finalizer
	// when the Job has ended. They are neither adopted nor released.
	job := specJob(t, "completions: 1\nparallelism: 1")
	orphan, stray, odd := podIn(job, 1, corev1.PodFailed), podIn(job, 2, corev1.PodRunning), podIn(job, 3, corev1.PodRunning)
	orphan.OwnerReferences, orphan.DeletionTimestamp = nil, &job.CreationTimestamp
	stray.OwnerReferences = nil
	odd.Labels = map[string]string{"other": "label"}
	bare, released := without(stray), without(odd)
	bare.UID, released.UID = "uid-bare", "uid-released"
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{odd, bare, stray, released, orphan}, Now: job.CreationTimestamp.Time})
	if len(d.Claim) != 3 {
		t.Errorf("%d claims, want 3", len(d.Claim))
	}
	for _, c := range d.Claim {
		if c.Relation != tracking.Orphaned {
			t.Errorf("%s is %s, want orphaned", c.Pod.Name, c.Relation)
		}
	}
}

// The Job controller removed the finalizer from pods of another controller.
func podsOfOthers(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	pod := podIn(job, 1, corev1.PodFailed)
	pod.OwnerReferences[0].UID = "other"
	for _, ended := range []bool{false, true} {
		job := job.DeepCopy()
		if ended {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})
		if len(d.Claim)+len(d.Delete)+len(d.Strip) != 0 {
			t.Errorf("ended %t: the pod of another owner is changed: %+v", ended, d)
		}
		if n := explain.Of(d).Notes(); len(n) != 1 || n[0].Code != explain.NoteForeignPods {
			t.Errorf("ended %t: notes %v, want one about foreign pods", ended, n)
		}
	}
	job.Spec.ManagedBy = ptrTo("example.com/other")
	if _, err := jobfate.Decide(jobfate.Snapshot{Job: job}); err == nil {
		t.Error("Decide accepts a Job that another controller manages")
	}
}

// The shared cache was changed.
func inputsStay(t *testing.T) {
	for _, spec := range []string{
		"completions: 3\nparallelism: 2", "completions: 3\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1",
		"completions: 3\nparallelism: 3\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}",
		"completions: 4\nparallelism: 3\ncompletionMode: Indexed\nsuccessPolicy: {rules: [{succeededCount: 2}]}\npodReplacementPolicy: Failed",
	} {
		w := newWorld(t, spec)
		w.runAll()
		w.End(w.alive()[0].UID, 1)
		snap := w.snapshot()
		before := toJSON(snap)
		d := mustDecide(t, snap)
		d = d.Revise(jobfate.Undone{Creations: 1})
		decidetest.Settle(d, d.Strip...)
		if diff := cmp.Diff(before, toJSON(snap)); diff != "" {
			t.Errorf("%s: the snapshot was changed\n%s", spec, diff)
		}
	}
}

// A stale Job led to extra pods after the end.
func staleJob(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time, InFlight: jobfate.InFlight{Status: true}})
	if !d.Idle() || d.Requeue != time.Second || explain.Of(d).Job().Code != explain.JobStale || decidetest.Settle(d).Status != nil || !d.Revise(jobfate.Undone{}).Idle() {
		t.Errorf("got %d to create, requeue %s, %s; want nothing, 1s, %s", len(d.Create), d.Requeue, explain.Of(d).Job().Code, explain.JobStale)
	}
}

// A Job of the same name inherited the memory of the old one.
func sameName(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	now := job.CreationTimestamp.Time
	d := mustDecide(t, jobfate.Snapshot{
		Job: job, Now: now,
		Backoff: backoff.Record{Job: "old", Failures: 5, LastFailure: now},
	})
	if len(d.Create) != 1 || d.Backoff != (backoff.Record{Job: job.UID}) {
		t.Errorf("%d to create, backoff record %+v; want 1 and an empty record", len(d.Create), d.Backoff)
	}
	if n := explain.Of(d).Notes(); len(n) != 1 || n[0].Code != explain.NoteMemoryDropped {
		t.Errorf("notes %v, want one about memory", n)
	}
}

// The index annotation was edited: index 0 ran twice, index 1 never.
func editedIndex(t *testing.T) {
	w := newWorld(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed")
	w.runAll()
	w.Edit("pod-2", func(pod *corev1.Pod) { pod.Annotations[batchv1.JobCompletionIndexAnnotation] = "0" })
	w.sync()
	want := explain.Reason{Code: explain.NoteIndexConflict, Text: `pod job-1-2: the annotation batch.kubernetes.io/job-completion-index is "0", the label "1"; 0 was used`}
	if n := explain.Of(w.last).Notes(); len(n) != 1 || n[0] != want {
		t.Errorf("notes %v, want %v", n, want)
	}
	w.settle()
	if got := showPods(w.alive()); w.Job().Status.Active != 2 || w.ofIndex(1) != "pod-3" {
		t.Errorf("the pods are %v, want one of the two of index 0 replaced by one of index 1", got)
	}
}

// Duplicate indexes were counted, and pods out of range were never deleted.
func duplicatesAndOutOfRange(t *testing.T) {
	job := specJob(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	at := func(n int, index string, phase corev1.PodPhase) *corev1.Pod {
		pod := podIn(job, 1, phase)
		pod.Name, pod.UID = fmt.Sprintf("job-x-p%d", n), types.UID(fmt.Sprintf("pod-%d", n))
		pod.Annotations[batchv1.JobCompletionIndexAnnotation] = index
		return pod
	}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time, Pods: []*corev1.Pod{
		at(1, "0", corev1.PodSucceeded), at(2, "0", corev1.PodSucceeded), at(3, "7", corev1.PodSucceeded),
		at(4, "1", corev1.PodRunning), at(5, "1", corev1.PodPending), at(6, "9", corev1.PodRunning), at(7, "x", corev1.PodRunning),
	}})
	if d.Status.Succeeded != 1 || d.Status.CompletedIndexes != "0" {
		t.Errorf("%d succeeded, %q; want 1, 0", d.Status.Succeeded, d.Status.CompletedIndexes)
	}
	got := map[types.UID]string{}
	for _, del := range d.Delete {
		got[del.Pod.UID] = del.Cause
	}
	want := map[types.UID]string{"pod-5": jobfate.CauseDuplicate, "pod-6": jobfate.CauseBeyond, "pod-7": jobfate.CauseNoIndex}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
}

// Panics were caused by terminating > active, by a nil policy, and by Jobs without defaults.
func noPanic(t *testing.T) {
	bare := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job-1"}}
	indexed := bare.DeepCopy()
	indexed.Spec.CompletionMode = ptrTo(batchv1.IndexedCompletion)
	rules := bare.DeepCopy()
	rules.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{}, {Action: batchv1.PodFailurePolicyActionFailJob}}}
	success := indexed.DeepCopy()
	success.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{}}}
	terminating := podIn(specJob(t, "completions: 1"), 1, corev1.PodRunning)
	terminating.DeletionTimestamp, terminating.Labels, terminating.Namespace = &terminating.CreationTimestamp, nil, ""
	for name, job := range map[string]*batchv1.Job{"bare": bare, "indexed": indexed, "empty rules": rules, "empty success rule": success} {
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon(), Pods: []*corev1.Pod{terminating, {ObjectMeta: metav1.ObjectMeta{UID: "empty"}}}})
		if *d.Status.Terminating != 1 || len(d.Create) > 1 {
			t.Errorf("%s: %d terminating, %d to create", name, *d.Status.Terminating, len(d.Create))
		}
		decidetest.Settle(d, d.Strip...)
		decidetest.Explanation(d)
	}
	var none jobfate.Decision
	if !none.Idle() || len(explain.Of(none).Notes()) != 0 {
		t.Error("the zero Decision is not idle")
	}
}

// completedIndexes outgrew etcd. KEP-3850 § The Job object too big bounds both
// fields together: (5+1)*10^5 characters.
func sizeOfIndexes(t *testing.T) {
	const n = 100_000
	w := newWorld(t, fmt.Sprintf("completions: %d\nparallelism: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0", n))
	var completed, failed strings.Builder
	for i := 0; i < n; i += 2 {
		fmt.Fprintf(&completed, ",%d", i)
		fmt.Fprintf(&failed, ",%d", i+1)
	}
	w.SetStatus(batchv1.JobStatus{StartTime: &w.Job().CreationTimestamp, Succeeded: n / 2, CompletedIndexes: completed.String()[1:], FailedIndexes: ptrTo(failed.String()[1:])})
	d := mustDecide(t, w.snapshot())
	if size := len(d.Status.CompletedIndexes) + len(*d.Status.FailedIndexes); size > (5+1)*n || explain.Of(d).Job().Code != explain.JobEnding {
		t.Errorf("the two take %d characters, %s; want at most %d", size, explain.Of(d).Job().Code, (5+1)*n)
	}
	// With the maximum of completions, no list grows.
	w = newWorld(t, fmt.Sprintf("completions: %d\nparallelism: 10\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0\nmaxFailedIndexes: 10", math.MaxInt32))
	d = mustDecide(t, w.snapshot())
	if len(d.Create) != 10 {
		t.Errorf("%d to create of %d completions, want 10", len(d.Create), math.MaxInt32)
	}
}

// A completedIndexes of "5,1", "2,2" or "1-5,3" made the controller panic, because it would
// have had to decrease a counter metric.
func metricsDoNotFall(t *testing.T) {
	for _, text := range []string{"5,1", "2,2", "1-5,3", "0-5,9-3", "8-9"} {
		w := newWorld(t, "completions: 6\nparallelism: 6\ncompletionMode: Indexed")
		w.SetStatus(batchv1.JobStatus{StartTime: &w.Job().CreationTimestamp, CompletedIndexes: text, Succeeded: 3})
		w.settle()
		for name, n := range w.metrics {
			if n < 0 || strings.Contains(name, "indexes") {
				t.Errorf("%q: %s changed by %d", text, name, n)
			}
		}
	}
}

// "9-3" counted −5, "1-5,3" counted 6, "5,1" broke the search, and "1-2-3" was
// read as "1-2".
func damagedIntervals(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"9-3", ""}, {"1-5,3", "1-5"}, {"5,1", "1,5"}, {"1-2-3", "1,2"}, {"x,4", "4"}, {"3-99999999999", "3-9"},
	} {
		job := specJob(t, "completions: 10\nparallelism: 1\ncompletionMode: Indexed")
		job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, CompletedIndexes: test.text}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time})
		if d.Status.CompletedIndexes != test.want || int(d.Status.Succeeded) != jobstatus.IndexesFinished(&batchv1.Job{Spec: job.Spec, Status: *d.Status}) {
			t.Errorf("%q is read as %q with %d succeeded, want %q", test.text, d.Status.CompletedIndexes, d.Status.Succeeded, test.want)
		}
		if n := explain.Of(d).Notes(); len(n) != 1 || n[0].Code != explain.NoteStatusRepaired {
			t.Errorf("%q: notes %v, want one about the repair", test.text, n)
		}
	}
}
