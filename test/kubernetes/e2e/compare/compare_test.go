package compare

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/stories/script"
)

// run returns the final state of a Job that a FailJob rule ended.
func run() script.State {
	now := metav1.Unix(1, 0)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid", Labels: map[string]string{"a": "b"}},
		Status: batchv1.JobStatus{
			StartTime: &now, Failed: 1,
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-uid"}},
			Conditions: []batchv1.JobCondition{{
				Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy",
				Message: "Container main for pod ns/job-0-abcde failed with exit code 5 matching FailJob rule at index 0",
			}},
		},
	}
	pod := podtest.PodOf(job, "pod-uid", "1", podtest.Index("0"), podtest.Exit(5, now))
	pod.Name, pod.Spec = "job-0-abcde", podtest.MinimalPodSpec()
	return script.State{Job: job, All: map[string]*corev1.Pod{pod.Name: pod}}
}

// All scenarios show what is not compared.
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
			c := &s.Job.Status.Conditions[0]
			c.Message = strings.Replace(c.Message, "job-0", "job-1", 1)
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
			changed := run()
			change(changed)
			if Ends(run(), changed) == "" {
				t.Error("no difference is found")
			}
		})
	}
	if Ends(script.State{}, run()) == "" {
		t.Error("a deleted Job equals an existing one")
	}
}
