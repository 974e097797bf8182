package stories

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

func indexesOf(create []jobfate.Creation) (indexes []int32) {
	for _, c := range create {
		indexes = append(indexes, c.Index)
	}
	return indexes
}

// If an index was ready while others were backing off, no timer was set for the others.
func leastDelay(t *testing.T) {
	w := newWorld(t, "completions: 4\nparallelism: 3\ncompletionMode: Indexed\nbackoffLimitPerIndex: 2")
	w.runAll()
	w.exitIndexes(1, 0)
	w.advance(3 * time.Second)
	w.exitIndexes(1, 1)
	w.advance(2 * time.Second)
	w.exitIndexes(0, 2)
	d := mustDecide(t, w.snapshot())
	if got := indexesOf(d.Create); !slices.Equal(got, []int32{3}) || d.Requeue != 5*time.Second {
		t.Errorf("creates %v, requeue %s, want index 3 and 5s", got, d.Requeue)
	}
	// KEP-3850: "minimum of all delays computed for all indexes requiring pod
	// recreation, but not less that 1s".
	w.advance(4*time.Second + 900*time.Millisecond)
	if d := mustDecide(t, w.snapshot()); d.Requeue != time.Second {
		t.Errorf("100 ms before the end of the delay: requeue %s, want 1s", d.Requeue)
	}
}

// With annotations that are MaxInt32, negative or not a number, the counts of the replacement
// never fall, and its delay remains.
func editedAnnotations(t *testing.T) {
	for _, test := range []struct {
		failures, ignored string
		notes             int
		fails             bool
		want              tracking.Counts // of the replacement
		delay             time.Duration
	}{
		{"0", "", 1, false, tracking.Counts{Failures: 1}, 10 * time.Second},
		{"2147483647", "0", 0, true, tracking.Counts{}, 0},
		{"1", "2147483647", 0, false, tracking.Counts{Failures: 2, Ignored: math.MaxInt32}, 10 * time.Minute},
		{"2147483648", "0", 1, false, tracking.Counts{Failures: 1}, 10 * time.Second},
		{"-5", "0", 1, false, tracking.Counts{Failures: 1}, 10 * time.Second},
		{"many", "some", 2, false, tracking.Counts{Failures: 1}, 10 * time.Second},
	} {
		job := specJob(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 5")
		pod := podIn(job, 1, corev1.PodFailed)
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = test.failures
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = test.ignored
		now := job.CreationTimestamp.Time
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: now})
		if len(explain.Of(d).Notes()) != test.notes || (*d.Status.FailedIndexes == "0") != test.fails || d.Requeue != test.delay {
			t.Errorf("%q, %q: notes %v, failed %q, delay %s; want %d notes, failed %t, %s",
				test.failures, test.ignored, explain.Of(d).Notes(), *d.Status.FailedIndexes, d.Requeue, test.notes, test.fails, test.delay)
		}
		if test.fails {
			continue
		}
		d = mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: now.Add(test.delay)})
		if len(d.Create) != 1 || builtin.CountsOf(d.Create[0].Pod().Annotations) != test.want {
			t.Errorf("%q, %q: creates %+v, want counts %+v", test.failures, test.ignored, d.Create, test.want)
		}
	}
}

// Requeues were counted as failures. Here the limit depends only on failed pods: failed >
// limit.
func requeuesAreNotFailures(t *testing.T) {
	w := newWorld(t, "completions: 2\nparallelism: 1\nbackoffLimit: 1")
	for failures := range 2 {
		w.runAll()
		w.End(w.alive()[0].UID, 1)
		for range 10 {
			w.settle()
		}
		want := backoff.Record{Job: w.Job().UID, Failures: int32(failures + 1), LastFailure: w.Now}
		if failures == 0 && !cmp.Equal(w.snapshot().Backoff, want) {
			t.Errorf("after %d failures and several syncs the record is %+v, want %+v", failures+1, w.snapshot().Backoff, want)
		}
		if ended := explain.Of(w.last).Job().Code == explain.JobFinished; ended != (failures > 0) {
			t.Errorf("after %d failures: %s", failures+1, explain.Of(w.last).Job().Code)
		}
		if failures == 0 {
			w.wait()
		}
	}
}

// The same with a backoff limit per index. The pod stays uncounted until it is replaced, so
// every sync finds it. The backoff record must not grow with the syncs.
func requeuesAreNotFailuresPerIndex(t *testing.T) {
	w := newWorld(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1")
	w.runAll()
	w.exitIndexes(1, 0)
	w.sync()
	first := w.snapshot().Backoff
	for range 10 {
		w.settle()
	}
	if !cmp.Equal(w.snapshot().Backoff, first) {
		t.Errorf("after ten syncs with one failure the record is %+v, want %+v as after the first", w.snapshot().Backoff, first)
	}
}

// A restart lost the backoff record.
func restartKeepsBackoff(t *testing.T) {
	w := newWorld(t, "completions: 5\nparallelism: 2\nbackoffLimit: 20")
	w.runAll()
	w.End("pod-1", 0)
	w.advance(time.Second)
	w.End("pod-2", 1)
	w.settle()
	w.wait()
	w.End(w.alive()[0].UID, 1)
	w.settle()
	kept, look := w.snapshot().Backoff, w.next
	w.restart()
	w.advance(time.Second)
	w.settle()
	if !cmp.Equal(w.snapshot().Backoff.For(kept.Job), kept) || !w.next.Equal(look) || kept.Failures != 2 {
		t.Errorf("after the restart: %+v, next sync at %s; want %+v, %s", w.snapshot().Backoff, clock(w.next), kept, clock(look))
	}
	// A listed pod is in the record, whether or not its finalizer is removed.
	w.End(w.alive()[0].UID, 1)
	w.fault = fault{at: w.writes + 2, kind: refuse} // the removal of its finalizer
	w.sync()
	kept = w.snapshot().Backoff
	w.restart()
	if got := mustDecide(t, w.snapshot()).Backoff; !cmp.Equal(got, kept) || kept.Failures != 3 {
		t.Errorf("rebuilt with a pod in the list: %+v, want %+v", got, kept)
	}
	w.advance(time.Hour)
	w.settle()
	kept = w.snapshot().Backoff
	// A pod that is not counted yet is added once.
	w.End(w.alive()[0].UID, 1)
	w.restart()
	if got := mustDecide(t, w.snapshot()).Backoff; got.Failures != kept.Failures+1 {
		t.Errorf("rebuilt with a new failure: %+v, want one more than %+v", got, kept)
	}
}

// The finish time fell back to the current time, and moved forward as long as the pod existed.
func finishTime(t *testing.T) {
	at := func(sec int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 1, 1, 12, 0, sec, 0, time.UTC))
	}
	for name, test := range map[string]struct {
		pod  func(*corev1.Pod)
		want string
	}{
		"containers": {func(*corev1.Pod) {}, "12:00:10"},
		"Ready=False": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses, pod.Status.Conditions = nil, nil
			*pod = *cluster.ReadyPod(pod, corev1.ConditionFalse, at(2).Time)
		}, "12:00:12"},
		"deletion minus grace": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses, pod.Status.Conditions = nil, nil
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptrTo(at(34)), ptrTo[int64](30)
		}, "12:00:14"},
		"creation": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses, pod.Status.Conditions = nil, nil
			pod.CreationTimestamp = at(3)
		}, "12:00:13"},
	} {
		for _, perIndex := range []string{"", "\nbackoffLimitPerIndex: 1"} {
			job := specJob(t, "completions: 1\ncompletionMode: Indexed"+perIndex)
			pod := podIn(job, 1, corev1.PodFailed)
			test.pod(pod)
			for _, now := range []int{4, 6} {
				d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: at(now).Time})
				if got := clock(at(now).Add(d.Requeue)); got != test.want {
					t.Errorf("%s%s: at %d s next sync at %s, want %s", name, perIndex, now, got, test.want)
				}
			}
		}
	}
}

// With OnFailure the sum of container restarts counts, and the limits 0 and 1 mean the same.
func onFailure(t *testing.T) {
	for _, test := range []struct {
		limit, restarts int32
		fails           bool
	}{
		{0, 0, false}, {0, 1, true}, {1, 0, false}, {1, 1, true}, {3, 2, false}, {3, 3, true}, {3, math.MaxInt32, true},
	} {
		for _, policy := range []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever} {
			job := specJob(t, fmt.Sprintf("completions: 1\nbackoffLimit: %d\ntemplate: {spec: {restartPolicy: %s, containers: [{name: main}]}}", test.limit, policy))
			pod := podIn(job, 1, corev1.PodRunning)
			pod.Status.ContainerStatuses[0].RestartCount = test.restarts
			d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})
			if fails, want := len(d.Status.Conditions) > 0, test.fails && policy == corev1.RestartPolicyOnFailure; fails != want {
				t.Errorf("%s, limit %d, %d restarts: fails %t, want %t", policy, test.limit, test.restarts, fails, want)
			}
		}
	}
}

// A Failed pod whose containers exited with 0 matches no rule on exit codes, not even NotIn.
func failedWithExit0(t *testing.T) {
	for _, operator := range []string{"{operator: In, values: [1]}", "{operator: NotIn, values: [1]}"} {
		job := specJob(t, "completions: 1\ncompletionMode: Indexed\nbackoffLimitPerIndex: 1\npodFailurePolicy: {rules: [{action: FailIndex, onExitCodes: "+operator+"}]}")
		pod := podIn(job, 1, corev1.PodFailed)
		pod.Status.ContainerStatuses[0].State.Terminated.ExitCode = 0
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})
		r := explain.Of(d).Index(0)
		if r.Code != explain.IndexBackingOff || r.LastFailure.Match.Matched() || r.LastFailure.Match.Explain() != "no rule matched" {
			t.Errorf("%s: %s, %s; want %s, no rule matched", operator, r.Code, r.LastFailure.Match.Explain(), explain.IndexBackingOff)
		}
	}
}

// Precedence of ends: existing SuccessCriteriaMet > existing FailureTarget > FailJob rule >
// backoffLimit > deadline > maxFailedIndexes > FailedIndexes > success policy >
// completions. At first all apply. Each row removes the one with the highest precedence.
func precedenceOfEnds(t *testing.T) {
	job := specJob(t, `
completions: 3
parallelism: 3
completionMode: Indexed
backoffLimit: 1
backoffLimitPerIndex: 0
maxFailedIndexes: 1
activeDeadlineSeconds: 10
successPolicy: {rules: [{succeededIndexes: "0"}]}
podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}`)
	pods := []*corev1.Pod{podIn(job, 1, corev1.PodSucceeded), podIn(job, 2, corev1.PodFailed), podIn(job, 3, corev1.PodFailed)}
	pods[1].Status.ContainerStatuses[0].State.Terminated.ExitCode = 42
	condition := func(c batchv1.JobConditionType) {
		job.Status.Conditions = []batchv1.JobCondition{{Type: c, Status: corev1.ConditionTrue, Reason: "Before"}}
	}
	job.Status.StartTime = &job.CreationTimestamp
	for _, row := range []struct {
		change func()
		want   string
	}{
		{func() { condition(batchv1.JobSuccessCriteriaMet) }, "Complete Before"},
		{func() { condition(batchv1.JobFailureTarget) }, "Failed Before"},
		{func() { job.Status.Conditions = nil }, "Failed PodFailurePolicy"},
		{func() { pods[1].Status.ContainerStatuses[0].State.Terminated.ExitCode = 1 }, "Failed BackoffLimitExceeded"},
		{func() { job.Spec.BackoffLimit = ptrTo[int32](2) }, "Failed DeadlineExceeded"},
		{func() { job.Spec.ActiveDeadlineSeconds = nil }, "Failed MaxFailedIndexesExceeded"},
		{func() { job.Spec.MaxFailedIndexes = ptrTo[int32](2) }, "Failed FailedIndexes"},
		{func() { pods[1] = podIn(job, 2, corev1.PodSucceeded); pods[2] = podIn(job, 3, corev1.PodSucceeded) }, "Complete SuccessPolicy"},
		{func() { job.Spec.SuccessPolicy = nil }, "Complete CompletionsReached"},
	} {
		row.change()
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: job.CreationTimestamp.Add(time.Hour)})
		s := decidetest.Settle(d, d.Strip...)
		last := s.Status.Conditions[len(s.Status.Conditions)-1]
		if got := fmt.Sprintf("%s %s", last.Type, last.Reason); got != row.want || !s.Finished {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

// The deadline is not rounded up to the minimum of one second for a backoff.
func oneTimer(t *testing.T) {
	w := newWorld(t, "completions: 1\nactiveDeadlineSeconds: 5")
	w.settle()
	w.advance(4500 * time.Millisecond)
	w.End("pod-1", 1)
	w.settle()
	if explain.Of(w.last).Job().Code != explain.JobBackingOff || w.last.Requeue != 500*time.Millisecond {
		t.Errorf("half a second before the deadline: %s, requeue %s", explain.Of(w.last).Job().Code, w.last.Requeue)
	}
}
