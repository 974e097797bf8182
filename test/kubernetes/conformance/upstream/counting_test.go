package upstream

import (
	"fmt"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

func TestKeptVerdict(t *testing.T) {
	job := newJob(t, 2, 2, failJob)
	b := newPod(job, "b", corev1.PodRunning)
	out := sync(real.Input{
		Job:  job,
		Pods: []*corev1.Pod{newPod(job, "a", corev1.PodFailed, exit(42, 0)), b},
		Fail: real.Faults{Delete: map[string]error{"b": real.ErrInternal}},
	})
	if st := last(t, out); has(st, batchv1.JobFailureTarget) || st.Failed != 1 || len(out.Done(real.Strip)) != 1 {
		t.Fatalf("failed %d, conditions %v, finalizers removed %v; want pod a counted without FailureTarget", st.Failed, st.Conditions, out.Done(real.Strip))
	}
	// Pod a has no finalizer and is deleted, so exit code 42 is lost.
	job.Status = *last(t, out)
	next := sync(real.Input{Job: job, Pods: []*corev1.Pod{b}})
	if len(next.Done(real.Delete)) != 0 || len(next.Statuses()) > 0 && has(last(t, next), batchv1.JobFailureTarget) {
		t.Errorf("deleted %v, want pod b to continue as if no rule had matched", next.Done(real.Delete))
	}
}

func TestStoredVerdict(t *testing.T) {
	job := newJob(t, 2, 1, func(s *batchv1.JobSpec) {
		s.BackoffLimit = new(int32(2))
		s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	})
	a, b := newPod(job, "a", corev1.PodRunning), newPod(job, "b", corev1.PodRunning)
	a.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 3}}
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{a, b}, Fail: real.Faults{Delete: map[string]error{"b": real.ErrInternal}}})
	if st := last(t, out); has(st, batchv1.JobFailureTarget) || !slices.Equal(out.Done(real.Delete), []string{"a"}) {
		t.Fatalf("deleted %v, conditions %v; want a deleted without FailureTarget", out.Done(real.Delete), st.Conditions)
	}
	// Only running pods have restarts that count.
	job.Status = *last(t, out)
	a.Status.Phase = corev1.PodSucceeded
	a.DeletionTimestamp = at(0)
	next := sync(real.Input{Job: job, Pods: []*corev1.Pod{a, b}})
	if st := last(t, next); has(st, batchv1.JobFailureTarget) || st.Succeeded != 1 {
		t.Errorf("succeeded %d, conditions %v; want the Job to go on", st.Succeeded, st.Conditions)
	}
}

func TestFullLists(t *testing.T) {
	job := newJob(t, 0, 10)
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"b", "c"}}
	in := real.Input{Job: job, Limits: real.Limits{MaxUncounted: 2}, Fail: real.Faults{Strip: map[string]error{}}}
	for _, name := range []string{"a", "b", "c"} {
		in.Pods = append(in.Pods, newPod(job, name, corev1.PodFailed, exit(1, 0)))
		in.Fail.Strip[name] = real.ErrInternal
	}
	if got := last(t, sync(in)).UncountedTerminatedPods.Failed; len(got) != 3 {
		t.Errorf("the list holds %v, want 3 UIDs although the limit is 2", got)
	}
}

func TestSaturation(t *testing.T) {
	const longest = math.MaxInt64 / 1_000_000_000 // in 292 years
	for seconds, fails := range map[int64]bool{longest: false, longest + 1: true} {
		job := newJob(t, 0, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = &seconds })
		if st := last(t, sync(real.Input{Job: job})); has(st, batchv1.JobFailed) != fails {
			t.Errorf("a deadline after %d s: conditions %v, want Failed: %t", seconds, st.Conditions, fails)
		}
	}
}

func TestPredecessor(t *testing.T) {
	job := newJob(t, 1, 1, limitPerIndex(5))
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{
		newPod(job, "a", corev1.PodFailed, index(0), failures(0), exit(1, -100)),
		newPod(job, "b", corev1.PodFailed, index(0), failures(4), exit(1, -200)),
	}})
	var counts []string
	for _, pod := range out.Created() {
		counts = append(counts, pod.Annotations[batchv1.JobIndexFailureCountAnnotation])
	}
	if fmt.Sprint(counts) != "[1]" {
		t.Errorf("replacements with the failure counts %v, want 1 although a pod of the index had the count 4", counts)
	}
}

func TestGuardedPatches(t *testing.T) {
	job := newJob(t, 0, 1)
	out := sync(real.Input{Job: job, Pods: []*corev1.Pod{newPod(job, "a", corev1.PodRunning)}})
	if got, want := string(out.Calls[0].Patch), `{"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`; got != want {
		t.Errorf("the patch before the deletion is %s, want %s, without a precondition", got, want)
	}
}
