package real_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
)

// One pod of an index has succeeded, and another has used up its limit. The index gets into both
// lists, counts twice towards the end of the Job, and the API server rejects the status.
func TestIndexBothCompletedAndFailed(t *testing.T) {
	job := newJob(t, size(2, 2), indexed, perIndex(0))
	in := real.Input{
		Job: job,
		Pods: []*corev1.Pod{
			newPod(job, "a", corev1.PodSucceeded, index(0), exit(0, 1)),
			newPod(job, "b", corev1.PodFailed, index(0), exit(1, 1)),
		},
		Now: at(2),
	}
	out := mustSync(t, in)
	s := lastStatus(t, out)
	if s.CompletedIndexes != "0" || s.FailedIndexes == nil || *s.FailedIndexes != "0" {
		t.Errorf("got completed %q, failed %v; want 0 in both", s.CompletedIndexes, s.FailedIndexes)
	}
	if got, want := conditions(s), "FailureTarget(FailedIndexes) Failed(FailedIndexes)"; got != want {
		t.Errorf("got conditions %s, want %s: index 1 never runs", got, want)
	}

	in.Validate = true
	out = real.Sync(in)
	if out.Err == nil || !strings.Contains(out.Err.Error(), "failedIndexes and completedIndexes overlap at index: 0") {
		t.Errorf("got error %v, want the overlap rejected", out.Err)
	}
	if got, want := trace(out), "write status failed"; got != want {
		t.Errorf("got calls %s, want %s: the Job is stuck", got, want)
	}
}

// The controller panics because it would have to decrease the counter of finished indexes.
func TestDamagedCompletedIndexesPanic(t *testing.T) {
	for _, damaged := range []string{"5,1", "2,2", "1-5,3"} {
		job := newJob(t, size(1, 10), indexed)
		job.Status.CompletedIndexes = damaged
		job.Status.StartTime = timeAt(0)
		out := real.Sync(real.Input{Job: job, Now: at(1)})
		if got := fmt.Sprint(out.Panic); got != "counter cannot decrease in value" {
			t.Errorf("completedIndexes %s: panic %s, want that of the counter", damaged, got)
		}
		if len(out.Statuses()) == 0 {
			t.Errorf("completedIndexes %s: no status before the panic, want one: %s", damaged, trace(out))
		}
	}
}

// backingOff returns pods of the first n indexes that failed at time 0.
func backingOff(job *batchv1.Job, n int) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, newPod(job, fmt.Sprint("pod-", i), corev1.PodFailed, index(i), failures(0), exit(1, 0)))
	}
	return pods
}

// The controller picks the lowest pending indexes before it checks their delays.
func TestIndexesThatBackOffHoldBackOthers(t *testing.T) {
	job := newJob(t, size(2, 8), indexed, perIndex(1))
	out := mustSync(t, real.Input{Job: job, Pods: backingOff(job, 2), Now: at(0)})
	if created := out.Done(real.Create); len(created) > 0 {
		t.Errorf("created %v, want none though 2 to 7 could run", created)
	}
	if len(out.Requeues) != 1 || out.Requeues[0] != 10*time.Second {
		t.Errorf("timers %v, want 10s", out.Requeues)
	}
}

// If an index is ready, the controller sets no timer for those that wait.
func TestNoTimerWhenSomeIndexIsReady(t *testing.T) {
	job := newJob(t, size(2, 8), indexed, perIndex(1))
	out := mustSync(t, real.Input{Job: job, Pods: backingOff(job, 1), Now: at(0)})
	created := out.Created()
	if len(created) != 1 || created[0].Annotations[batchv1.JobCompletionIndexAnnotation] != "1" {
		t.Errorf("created %v, want only index 1", out.Done(real.Create))
	}
	if len(out.Requeues) > 0 {
		t.Errorf("timers %v, want none though index 0 waits", out.Requeues)
	}
}

// More than 9.2e9 seconds do not fit into a time.Duration.
func TestActiveDeadlineOverflows(t *testing.T) {
	for _, tt := range []struct {
		seconds int64
		want    string
	}{
		{9_223_372_036, ""},
		{9_223_372_037, "FailureTarget(DeadlineExceeded) Failed(DeadlineExceeded)"},
	} {
		job := newJob(t, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = &tt.seconds })
		out := mustSync(t, real.Input{Job: job, Now: at(0)})
		if got := conditions(lastStatus(t, out)); got != tt.want {
			t.Errorf("deadline in %d s: got conditions %q, want %q", tt.seconds, got, tt.want)
		}
	}
}

// A pod that is recorded as uncounted in one phase, and then observed in the other, counts as both.
func TestPhaseFlipCountsTwice(t *testing.T) {
	succeeded := batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
	failed := batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
	tests := []struct {
		name    string
		spec    []func(*batchv1.JobSpec)
		now     corev1.PodPhase
		parked  batchv1.UncountedTerminatedPods
		want    string // last status: succeeded, failed, conditions
		refused string
	}{
		{
			name: "succeeded, now failed",
			spec: []func(*batchv1.JobSpec){size(1, 2)},
			now:  corev1.PodFailed, parked: succeeded,
			want:    "1 1 ",
			refused: "status.uncountedTerminatedPods.failed[0]: Duplicate value",
		},
		{
			name: "failed, now succeeded",
			spec: []func(*batchv1.JobSpec){size(1, 1)},
			now:  corev1.PodSucceeded, parked: failed,
			want: "0 1 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)",
		},
		{
			name: "failed, now succeeded, indexed",
			spec: []func(*batchv1.JobSpec){size(1, 1), indexed},
			now:  corev1.PodSucceeded, parked: failed,
			want: "1 1 SuccessCriteriaMet(CompletionsReached) Complete(CompletionsReached)",
		},
	}
	for _, tt := range tests {
		job := newJob(t, tt.spec...)
		job.Status.StartTime = timeAt(0)
		job.Status.UncountedTerminatedPods = &tt.parked
		in := real.Input{
			Job:  job,
			Pods: []*corev1.Pod{newPod(job, "a", tt.now, index(0), exit(0, 1))},
			Now:  at(60),
		}
		s := lastStatus(t, mustSync(t, in))
		if got := fmt.Sprint(s.Succeeded, s.Failed, " ", conditions(s)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		in.Validate = true
		switch err := real.Sync(in).Err; {
		case tt.refused == "" && err != nil:
			t.Errorf("%s: the server rejects: %v", tt.name, err)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s: got error %v, want %s", tt.name, err, tt.refused)
		}
	}
}

// A status that the harness rejects gets the error of the API server.
func TestValidateRefusesLikeTheServer(t *testing.T) {
	job := newJob(t, size(1, 2))
	bad := job.DeepCopy()
	bad.Status.Active = -1
	errs := apiserver.AcceptStatus(job, bad)
	if len(errs) == 0 {
		t.Fatal("the server accepts a negative number of active pods")
	}
	// The controller keeps the negative count of the old status.
	bad.Status.Failed = -1
	out := real.Sync(real.Input{Job: bad, Live: job, Now: at(0), Validate: true})
	if !apierrors.IsInvalid(out.Err) {
		t.Errorf("got error %v, want Invalid", out.Err)
	}
}
