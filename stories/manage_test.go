package stories

import (
	"slices"
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
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

// The Suspended condition is set only if the number of pods is managed, and not when the Job
// ends.
func TestManage_suspendedCondition(t *testing.T) {
	suspended := func(d jobfate.Decision) bool {
		return d.Status != nil && slices.ContainsFunc(d.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	}
	for _, test := range []struct {
		name    string
		happens func(*world)
		want    bool
	}{
		{"managed", func(*world) {}, true},
		{"pods not observed", func(w *world) {
			w.edit("suspend: false")
			w.Vanish("pod-1")
			w.Lag("pods")
			w.sync()
			w.edit("suspend: true")
		}, false},
		{"being deleted", func(w *world) { w.DeleteJob(metav1.DeletePropagationForeground) }, false},
		{"at the end", func(w *world) { w.End("pod-1", 0) }, false},
	} {
		w := newWorld(t, "completions: 1")
		w.runAll()
		w.edit("suspend: true")
		test.happens(w)
		if got := suspended(mustDecide(t, w.snapshot())); got != test.want {
			t.Errorf("%s: Suspended condition %t, want %t", test.name, got, test.want)
		}
	}
}

// KEP-3850: with a backoff limit per index "the exponential backoff delay" is "per index",
// so the backoff record of the Job delays nothing. The record is kept, because the limit
// per index may be turned off later.
func TestManage_perIndexIgnoresTheRecord(t *testing.T) {
	for _, test := range []struct {
		spec   string
		create int
	}{{"", 0}, {"\nbackoffLimitPerIndex: 1", 2}} {
		job := specJob(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed"+test.spec)
		now := job.CreationTimestamp.Time
		memory := backoff.Record{Job: job.UID, Failures: 3, LastFailure: now}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: now, Backoff: memory})
		if len(d.Create) != test.create || !cmp.Equal(d.Backoff, memory) {
			t.Errorf("%q: %d to create, remembered %+v; want %d, %+v", test.spec, len(d.Create), d.Backoff, test.create, memory)
		}
	}
}

// Without a limit per index, the failures after the last success delay all indexes, and no pod
// waits for its replacement.
func TestManage_indexesWithoutTheirOwnLimit(t *testing.T) {
	w := newWorld(t, "completions: 3\nparallelism: 3\ncompletionMode: Indexed")
	w.runAll()
	w.exitIndexes(1, 0)
	w.advance(time.Second)
	w.exitIndexes(0, 1)
	d := mustDecide(t, w.snapshot())
	if got, want := indexesOf(d.Create), []int32{0}; !slices.Equal(got, want) || len(d.Strip) != 2 {
		t.Errorf("%v are created and %d are to strip, want %v, 2", got, len(d.Strip), want)
	}
}

// The API server defaults parallelism to 1. It defaults completions to 1 only if parallelism is
// unset too.
func TestManage_completionsWithoutParallelism(t *testing.T) {
	job := specJob(t, "completions: 2")
	job.Spec.Parallelism = nil
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded)}, Now: job.CreationTimestamp.Time})
	if len(d.Create) != 1 || len(d.Status.Conditions) != 0 {
		t.Errorf("after one of two: %d to create, conditions %v; want 1, none", len(d.Create), d.Status.Conditions)
	}
}

// KEP-3850, Rollback: without the feature, FailIndex rules are skipped and a later rule may
// match.
func TestManage_withoutPerIndexBackoffFailIndexIsSkipped(t *testing.T) {
	job := specJob(t, `
completions: 2
parallelism: 2
completionMode: Indexed
backoffLimitPerIndex: 1
podFailurePolicy:
  rules:
  - {action: FailIndex, onExitCodes: {operator: In, values: [1]}}
  - {action: FailJob, onExitCodes: {operator: In, values: [1]}}`)
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodFailed), podIn(job, 2, corev1.PodRunning)}, Now: job.CreationTimestamp.Time}
	for _, test := range []struct {
		opts []jobfate.Option
		want explain.Code
	}{{nil, explain.JobRunning}, {[]jobfate.Option{jobfate.WithoutPerIndexBackoff()}, explain.JobEnding}} {
		if got := explain.Of(mustDecide(t, s, test.opts...)).Job(); got.Code != test.want {
			t.Errorf("%d options: %s (%s), want %s", len(test.opts), got.Code, got.Text, test.want)
		}
	}
}

// Once the deadline has passed, there is no timer for it.
func TestManage_noTimerPastTheDeadline(t *testing.T) {
	job := specJob(t, "completions: 1\nactiveDeadlineSeconds: 5")
	job.Status.StartTime = &job.CreationTimestamp
	for after, want := range map[time.Duration]time.Duration{4 * time.Second: time.Second, 5 * time.Second: 0, 6 * time.Second: 0} {
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodRunning)}, Now: job.CreationTimestamp.Add(after)})
		if d.Requeue != want {
			t.Errorf("after %s: requeue %s, want %s", after, d.Requeue, want)
		}
	}
}

// The deadline does not run while a Job is suspended, even if the status still has a start
// time. The Job does not fail, and there is no timer for the deadline.
func TestManage_noDeadlineWhileSuspended(t *testing.T) {
	for active, want := range map[time.Duration]string{time.Minute: "before the deadline", time.Hour: "past the deadline"} {
		job := specJob(t, "completions: 2\nsuspend: true\nactiveDeadlineSeconds: 600")
		job.Status.StartTime = &job.CreationTimestamp
		d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Add(active)})
		if d.Requeue != 0 || d.Status == nil || len(d.Status.Conditions) != 1 || d.Status.Conditions[0].Type != batchv1.JobSuspended {
			t.Errorf("%s: requeue %s, status %s; want it suspended and no timer", want, d.Requeue, toJSON(d.Status))
		}
	}
}

// A decision with two kinds of actions and without a status is not idle.
func TestManage_notIdle(t *testing.T) {
	for _, test := range []struct {
		name        string
		parallelism int32
		status      batchv1.JobStatus
		uncounted   []types.UID
		phase       corev1.PodPhase
		released    bool // there is a pod to release, too
	}{
		{"a creation and a finalizer", 1, batchv1.JobStatus{Active: 1}, []types.UID{"pod-1"}, corev1.PodSucceeded, false},
		{"a claim and a creation", 1, batchv1.JobStatus{Active: 1}, nil, "", true},
		{"a claim and a deletion", 0, batchv1.JobStatus{Terminating: ptrTo[int32](1)}, nil, corev1.PodRunning, true},
	} {
		job := specJob(t, "completions: 2")
		job.Spec.Parallelism, job.Status = &test.parallelism, test.status
		st := &job.Status
		st.StartTime, st.Ready = &job.CreationTimestamp, ptrTo[int32](0)
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: test.uncounted}
		if st.Terminating == nil {
			st.Terminating = ptrTo[int32](0)
		}
		var pods []*corev1.Pod
		if test.phase != "" {
			pods = append(pods, podIn(job, 1, test.phase))
		}
		if test.released {
			pod := podIn(job, 2, corev1.PodRunning)
			pod.Labels = nil
			pods = append(pods, pod)
		}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Time})
		if asked := len(d.Claim) + len(d.Create) + len(d.Delete) + len(d.Strip); asked != 2 || d.Status != nil {
			t.Fatalf("%s: %d actions, status %v; want 2, none", test.name, asked, d.Status)
		}
		if d.Idle() {
			t.Errorf("%s: the decision is idle", test.name)
		}
	}
}

// A Job that has ended adopts no pods.
func TestManage_noAdoptionAfterTheEnd(t *testing.T) {
	w := newWorld(t, "completions: 1")
	w.settle()
	w.End("pod-1", 0)
	w.settle()
	orphan := podIn(w.Job(), 2, corev1.PodRunning)
	orphan.OwnerReferences = nil
	orphan.Finalizers = nil
	s := w.snapshot()
	s.Pods = append(s.Pods, orphan)
	if d := mustDecide(t, s); len(d.Claim) != 0 {
		t.Errorf("after the end it claims %v, want nothing", d.Claim)
	}
	s.Job = s.Job.DeepCopy()
	s.Job.Status = batchv1.JobStatus{}
	if d := mustDecide(t, s); len(d.Claim) != 1 || d.Claim[0].Relation != tracking.Adoptable {
		t.Errorf("before the end it claims %v, want to adopt one", d.Claim)
	}
}

// After the end of the Job, a finalizer whose removal is in flight is not removed again.
func TestManage_afterTheEndNothingIsStrippedTwice(t *testing.T) {
	job := specJob(t, "completions: 2")
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded), podIn(job, 2, corev1.PodSucceeded)}, Now: job.CreationTimestamp.Time}
	s.InFlight.Stripped = []types.UID{"pod-1"}
	if d := mustDecide(t, s); len(d.Strip) != 1 || d.Strip[0].UID != "pod-2" {
		t.Errorf("%d finalizers to remove, want only that of pod-2", len(d.Strip))
	}
}

// A pod with the finalizer that is observed after the end loses it, and is not recorded.
func TestManage_podAfterTheEndLosesItsFinalizer(t *testing.T) {
	w := newWorld(t, "completions: 1\nbackoffLimit: 0")
	w.settle()
	w.End("pod-1", 1)
	w.settle()
	s := w.snapshot()
	twin := podIn(s.Job, 9, corev1.PodFailed)
	s.Pods = append(s.Pods, twin)
	if d := mustDecide(t, s); len(d.Strip) != 1 || d.Strip[0] != twin || d.Status != nil {
		t.Errorf("strips %v and stores %+v, want to strip the pod and store nothing", d.Strip, d.Status)
	}
}

// A completed index counts once. If an older controller has put the UID of its pod into the
// list, the removal of the finalizer adds nothing.
func TestManage_indexedSuccessesAreNotCountedByUID(t *testing.T) {
	job := specJob(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed")
	job.Status = batchv1.JobStatus{
		StartTime: &job.CreationTimestamp, Succeeded: 1, CompletedIndexes: "0",
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-1"}},
	}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded), podIn(job, 2, corev1.PodRunning)}, Now: job.CreationTimestamp.Time})
	if s := decidetest.Settle(d, d.Strip...); s.Status == nil || s.Status.Succeeded != 1 || len(s.Status.UncountedTerminatedPods.Succeeded) != 0 {
		t.Errorf("settled: %+v, want 1 succeeded and no UID", s.Status)
	}
}
