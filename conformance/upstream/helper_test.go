package upstream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) *metav1.Time {
	t := metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
	return &t
}

// newJob returns a Job that the API server accepts, and that started a minute ago.
func newJob(t *testing.T, parallelism, completions int32, change ...func(*batchv1.Job)) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid"}}
	job.Spec.Parallelism, job.Spec.Completions = &parallelism, &completions
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "image"}},
	}
	for _, f := range change {
		f(job)
	}
	stored, errs := apiserver.Create(job)
	if len(errs) > 0 {
		t.Fatalf("the API server rejects the Job: %v", errs)
	}
	stored.ResourceVersion, stored.Status.StartTime = "1", at(-60)
	return stored
}

func indexed(j *batchv1.Job) { j.Spec.CompletionMode = ptr(batchv1.IndexedCompletion) }

func limitPerIndex(n int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { indexed(j); j.Spec.BackoffLimitPerIndex = &n }
}

// failJob is a pod failure policy that fails the Job when a container exits with 42.
func failJob(j *batchv1.Job) {
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
	}}}
}

// newPod returns a pod as the controller creates it for the Job. The pod is 50 s old.
func newPod(job *batchv1.Job, name string, phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name, UID: types.UID(name), ResourceVersion: "1",
			Labels: job.Spec.Template.Labels, Annotations: map[string]string{}, CreationTimestamp: *at(-50),
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func index(i int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(i) }
}

// failures sets the number of failures of the index before this pod.
func failures(n int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[batchv1.JobIndexFailureCountAnnotation] = fmt.Sprint(n) }
}

func exit(code int32, seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: *at(seconds)},
		}}}
	}
}

func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// sync runs one sync at noon on an API server that validates statuses.
func sync(in real.Input) real.Output {
	in.Now, in.Validate = noon, true
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

func has(status *batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	for _, c := range status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// refused fails the test unless the API server has rejected a status with the reason.
func refused(t *testing.T, out real.Output, reason string) {
	t.Helper()
	if out.Err == nil || !strings.Contains(out.Err.Error(), reason) {
		t.Errorf("got the error %v, want %q in it", out.Err, reason)
	}
}

func ptr[T any](v T) *T { return &v }
