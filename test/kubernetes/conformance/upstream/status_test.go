package upstream

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

func TestDisjointIndexes(t *testing.T) {
	job := newJob(t, 2, 2, limitPerIndex(0))
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{
		newPod(job, "a", corev1.PodSucceeded, index(0)),
		newPod(job, "b", corev1.PodFailed, index(0), exit(1, 0)),
	}})
	refused(t, out, "failedIndexes and completedIndexes overlap at index: 0")
	if len(out.Calls) != 1 {
		t.Errorf("calls %v, want only the status that is rejected: the Job is stuck", out.Calls)
	}
}

func TestFirstClassification(t *testing.T) {
	job := newJob(t, 1, 2)
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{newPod(job, "a", corev1.PodFailed, exit(1, 0))}})
	refused(t, out, "uncountedTerminatedPods.failed[0]: Duplicate value")

	for _, c := range []struct {
		change    []func(*batchv1.JobSpec)
		succeeded int32
	}{{nil, 0}, {[]func(*batchv1.JobSpec){indexed}, 1}} {
		job = newJob(t, 1, 1, c.change...)
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
		out = sync(real.Input{Job: job, Pods: []*corev1.Pod{newPod(job, "a", corev1.PodSucceeded, index(0))}})
		if st := last(t, out); !has(st, batchv1.JobComplete) || st.Succeeded != c.succeeded || st.Failed != 1 {
			t.Errorf("%d succeeded, %d failed, conditions %v; want Complete with one failed pod and %d that succeeded",
				st.Succeeded, st.Failed, st.Conditions, c.succeeded)
		}
	}
}

func TestCanonicalIndexes(t *testing.T) {
	for _, damaged := range []string{"5,1", "2,2", "1-5,3"} {
		job := newJob(t, 1, 10, indexed)
		job.Status.CompletedIndexes, job.Status.Ready, job.Status.Terminating = damaged, new(int32(0)), new(int32(0))
		out := real.Sync(real.Input{Job: job, Now: at(0).Time})
		if got := fmt.Sprint(out.Panic); got != "counter cannot decrease in value" || len(out.Statuses()) == 0 {
			t.Errorf("completedIndexes %q: panic %s after %d statuses, want that of the counter after one",
				damaged, got, len(out.Statuses()))
		}
	}
}

func TestHiddenCondition(t *testing.T) {
	job := newJob(t, 1, 1, failJob)
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobFailureTarget, Status: status, Reason: "PodFailurePolicy"})
	}
	if out := sync(real.Input{Job: job}); len(out.Created()) != 1 {
		t.Errorf("created %v, want a pod although FailureTarget is True", out.Done(real.Create))
	}
}

func TestStartTime(t *testing.T) {
	// A user deleted the pod, the Job was suspended while the pod was terminating, and then the
	// pod succeeded.
	job := newJob(t, 1, 1, func(s *batchv1.JobSpec) { s.Suspend = new(true) })
	job.Status.StartTime = nil
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Reason: "JobSuspended", Message: "Job suspended"}}
	pod := newPod(job, "a", corev1.PodSucceeded, func(p *corev1.Pod) { p.DeletionTimestamp = at(-5) })
	refused(t, sync(real.Input{Job: job, Pods: []*corev1.Pod{pod}}), "startTime is required for finished job")
}

func TestCompletionTime(t *testing.T) {
	job := newJob(t, 1, 1)
	job.Status.StartTime, job.Status.Succeeded = at(30), 1 // set by another replica, with another clock
	refused(t, sync(real.Input{Job: job}), "completionTime: Invalid value")
}

func TestStuckSucceeded(t *testing.T) {
	// The Job was scaled down from 3 to 1, and then only the parallelism was changed.
	job := newJob(t, 0, 1, indexed)
	job.Status.CompletedIndexes, job.Status.Succeeded = "0-2", 3
	refused(t, sync(real.Input{Job: job}), "cannot decrease the succeeded counter")
}

func TestFailedDeletion(t *testing.T) {
	job := newJob(t, 0, 1)
	job.Status.Active, job.Status.Ready = 1, new(int32(1))
	out := sync(real.Input{
		Job:  job,
		Pods: []*corev1.Pod{newPod(job, "a", corev1.PodRunning, ready)},
		Fail: real.Faults{Delete: map[string]error{"a": real.ErrInternal}},
	})
	want := int32(0)
	if fixedIn(38) {
		want = 1
	}
	if st := last(t, out); st.Active != 1 || *st.Ready != want {
		t.Errorf("active %d, ready %d; want 1 and %d: the ready pod is still there", st.Active, *st.Ready, want)
	}
}

func TestGoneDeletion(t *testing.T) {
	job := newJob(t, 0, 1)
	job.Status.Active, job.Status.Ready = 1, new(int32(1))
	out := sync(real.Input{
		Job:  job,
		Pods: []*corev1.Pod{newPod(job, "a", corev1.PodRunning, ready)},
		Fail: real.Faults{StripToDelete: map[string]error{"a": real.ErrNotFound}},
	})
	refused(t, out, "cannot set more ready pods than active")
}

func TestSuccessPolicyPanic(t *testing.T) {
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns"}, Spec: batch.JobSpec{
		CompletionMode: new(batch.IndexedCompletion), Parallelism: new(int32(3)),
		SuccessPolicy: &batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: new("0")}}},
	}}
	defer func() {
		if recover() == nil {
			t.Error("the validation of the API server did not panic")
		}
	}()
	batchvalidation.ValidateJobCreate(job, batchvalidation.JobValidationOptions{})
}

var (
	at, has, indexed, limitPerIndex      = fixture.At, fixture.IsTrue, fixture.Indexed, fixture.PerIndex
	newPod, index, failures, exit, ready = fixture.Pod, fixture.Index, fixture.Failures, fixture.Exit, fixture.Ready
)

// newJob returns a Job that the API server accepts, and that started a minute ago.
func newJob(t *testing.T, parallelism, completions int32, change ...func(*batchv1.JobSpec)) *batchv1.Job {
	t.Helper()
	stored := fixture.Job(t, append(change, fixture.Size(parallelism, completions))...)
	stored.ResourceVersion, stored.Status.StartTime = "1", at(-60)
	return stored
}

// fixedIn reports whether the compared release has a fix that came with a minor version.
func fixedIn(minor int) bool { return kubernetes.Minor() >= minor }

// failJob is a pod failure policy that fails the Job when a container exits with 42.
func failJob(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
	}}}
}

// sync runs one sync at noon on an API server that validates statuses.
func sync(in real.Input) real.Output {
	in.Now, in.Validate = at(0).Time, true
	return real.Sync(in)
}

// last returns the last status that was stored.
func last(t *testing.T, out real.Output) *batchv1.JobStatus {
	t.Helper()
	all := out.Statuses()
	if len(all) == 0 {
		t.Fatalf("no status was stored: error %v", out.Err)
	}
	return all[len(all)-1]
}

// refused fails the test unless the API server has rejected a status with the reason.
func refused(t *testing.T, out real.Output, reason string) {
	t.Helper()
	if out.Err == nil || !strings.Contains(out.Err.Error(), reason) {
		t.Errorf("got the error %v, want %q in it", out.Err, reason)
	}
}
