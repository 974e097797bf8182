package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/stories/script"
)

// State is a Job and its pods at one moment. Its results must not be changed.
type State struct {
	// Job is nil before the Job is created and after it is gone.
	Job *batchv1.Job
	// All holds all pods of the namespace by name, including those of other Jobs.
	All map[string]*corev1.Pod
	// Events holds the events about the Job, by name.
	Events map[string]*corev1.Event
}

// Event returns an event about the Job with a reason, or nil.
func (s State) Event(reason string) *corev1.Event {
	for _, e := range s.Events {
		if e.Reason == reason {
			return e
		}
	}
	return nil
}

// Pods returns the pods that the Job controls, by index, then by age and name.
func (s State) Pods() []*corev1.Pod {
	if s.Job == nil {
		return nil
	}
	return s.Sorted(func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, s.Job) })
}

// Active returns the pods of the Job that have not ended and are not being deleted.
func (s State) Active() []*corev1.Pod {
	return slices.DeleteFunc(s.Pods(), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || script.Ended(p)
	})
}

// OfIndex returns the pods of the Job with the given indexes.
func (s State) OfIndex(indexes ...int) []*corev1.Pod {
	return slices.DeleteFunc(s.Pods(), func(p *corev1.Pod) bool { return !slices.Contains(indexes, script.Index(p)) })
}

// Sorted returns the pods of the namespace that match a function, in the order of Pods.
func (s State) Sorted(holds func(*corev1.Pod) bool) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range s.All {
		if holds(p) {
			pods = append(pods, p)
		}
	}
	return script.Ordered(pods)
}

// is reports whether the Job has a STATE of package script.
func (s State) is(state string) bool {
	return script.Same(script.Text(s.Job, slices.Collect(maps.Values(s.All))), state)
}

// Tracked returns the pods of the namespace that have the finalizer of Jobs.
func (s State) Tracked() []*corev1.Pod {
	return s.Sorted(func(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) })
}

// Ended reports whether the Job is Complete or Failed.
func Ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// Status describes the status of a Job in one line.
func Status(job *batchv1.Job) string {
	words := script.Status(job)
	if u := job.Status.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) > 0 {
		words = append(words, fmt.Sprintf("uncounted %d succeeded, %d failed", len(u.Succeeded), len(u.Failed)))
	}
	if value(job.Spec.Suspend) {
		words = append(words, "suspended by its spec")
	}
	if job.DeletionTimestamp != nil {
		words = append(words, "being deleted")
	}
	return strings.Join(words, ", ")
}

// describe describes a pod in one line.
func describe(p *corev1.Pod) string {
	line := string(p.Status.Phase)
	if index := script.Index(p); index >= 0 {
		line = fmt.Sprintf("index %d, %s", index, line)
	}
	if failures, has := p.Annotations[batchv1.JobIndexFailureCountAnnotation]; has {
		line += ", failure count " + failures
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Terminated != nil {
			line += fmt.Sprintf(", %s exited with %d", c.Name, c.State.Terminated.ExitCode)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == corev1.PodReady || c.Type == corev1.DisruptionTarget) {
			line += ", " + string(c.Type)
		}
	}
	if p.DeletionTimestamp != nil {
		line += ", being deleted"
	}
	if len(p.Finalizers) == 0 {
		line += ", no finalizer"
	}
	if metav1.GetControllerOf(p) == nil {
		line += ", no controller"
	}
	return line
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// clone returns a state that later changes do not affect.
func (s State) clone() State {
	return State{Job: s.Job, All: maps.Clone(s.All), Events: maps.Clone(s.Events)}
}
