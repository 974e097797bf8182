package compare

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/test/stories/script"
)

// run returns the final state of a Job that a FailJob rule ended. Everything that may differ between
// runs depends on n and at.
func run(n string, at time.Time) script.State {
	uid := types.UID("uid-" + n)
	now := metav1.NewTime(at)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "job", Namespace: "ns-" + n, UID: uid, ResourceVersion: n, CreationTimestamp: now,
			Labels: map[string]string{batchv1.ControllerUidLabel: string(uid), "a": "b"},
		},
		Status: batchv1.JobStatus{
			StartTime: &now, Failed: 1,
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-" + uid}},
			Conditions: []batchv1.JobCondition{{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy", LastTransitionTime: now,
				Message: "Container main for pod ns-" + n + "/job-0-abcd" + n + " failed with exit code 5 matching FailJob rule at index 0",
			}},
		},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "job-0-abcd" + n, Namespace: "ns-" + n, UID: "pod-" + uid, CreationTimestamp: now,
			Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"},
			Finalizers:  []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")),
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 5, FinishedAt: now}},
		}}},
	}
	return script.State{Job: job, All: map[string]*corev1.Pod{pod.Name: pod}}
}

func TestIgnoredDifferences(t *testing.T) {
	now := time.Now()
	if got := Ends(run("1", now), run("2", now.Add(time.Hour))); got != "" {
		t.Errorf("two runs of the same Job differ:\n%s", got)
	}
}

func TestComparedFields(t *testing.T) {
	onePod := func(change func(*corev1.Pod)) func(script.State) {
		return func(s script.State) {
			for _, p := range s.All {
				change(p)
			}
		}
	}
	for name, change := range map[string]func(script.State){
		"no start time": func(s script.State) { s.Job.Status.StartTime = nil },
		"count":         func(s script.State) { s.Job.Status.Failed = 2 },
		"uncounted":     func(s script.State) { s.Job.Status.UncountedTerminatedPods.Failed = nil },
		"reason":        func(s script.State) { s.Job.Status.Conditions[0].Reason = "BackoffLimitExceeded" },
		"message":       func(s script.State) { s.Job.Status.Conditions[0].Message += "." },
		"index in a message": func(s script.State) {
			s.Job.Status.Conditions[0].Message = "Container main for pod ns-2/job-1-abcd2 failed with exit code 5 matching FailJob rule at index 0"
		},
		"label":           func(s script.State) { s.Job.Labels["a"] = "c" },
		"pod gone":        func(s script.State) { clear(s.All) },
		"finalizer":       onePod(func(p *corev1.Pod) { p.Finalizers = nil }),
		"annotation":      onePod(func(p *corev1.Pod) { p.Annotations["x"] = "y" }),
		"owner reference": onePod(func(p *corev1.Pod) { p.OwnerReferences[0].BlockOwnerDeletion = nil }),
		"phase":           onePod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		"exit code":       onePod(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.ExitCode = 6 }),
		"spec of a pod":   onePod(func(p *corev1.Pod) { p.Spec.Hostname = "job-0" }),
		"deletion":        onePod(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := run("1", time.Now()), run("2", time.Now())
			change(b)
			if Ends(a, b) == "" {
				t.Error("no difference is found")
			}
		})
	}
}

func TestDeletedJobs(t *testing.T) {
	if got := Ends(script.State{}, script.State{}); got != "" {
		t.Errorf("two Jobs that are gone differ:\n%s", got)
	}
	if Ends(script.State{}, run("1", time.Now())) == "" {
		t.Error("a deleted Job equals an existing one")
	}
}
