package explain

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/sidecar"
)

const (
	// startPatience is how long a pod without a warning may take to start. Large images
	// take minutes.
	startPatience = 10 * time.Minute
	// containerPatience is how long a container may outlast the others of its pod.
	containerPatience = 10 * time.Minute
)

// causeOf classifies the reason that the kubelet gives for a waiting container. It returns
// no cause for a container that is about to start.
func causeOf(reason string) Code {
	switch reason {
	case "", "ContainerCreating", "PodInitializing":
		return ""
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return CauseImagePull
	case "CreateContainerConfigError", "CreateContainerError":
		return CauseContainerConfig
	case "CrashLoopBackOff":
		return CauseCrashLoop
	}
	return CauseContainerStart
}

// waits finds pods with a container that waits because of the given cause.
func waits(cause Code) func(*facts, *corev1.Pod) string {
	return func(_ *facts, pod *corev1.Pod) string {
		for _, list := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range list {
				c, w := &list[i], list[i].State.Waiting
				if w == nil || causeOf(w.Reason) != cause {
					continue
				}
				text := "container " + c.Name + ": " + w.Reason
				if cause != CauseCrashLoop {
					return text + colon(w.Message)
				}
				if end := c.LastTerminationState.Terminated; end != nil {
					text += " after " + exit(end)
				}
				return text
			}
		}
		return ""
	}
}

// containers yields the statuses of the lists.
func containers(lists ...[]corev1.ContainerStatus) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		for _, list := range lists {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// exit says how a container ended.
func exit(end *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit code %d", end.ExitCode)
	if end.Reason != "" && end.Reason != "Error" {
		text += ", " + end.Reason
	}
	return text
}

// nodeLost finds pods whose node is not ready, or whose phase is not known.
func (f *facts) nodeLost(pod *corev1.Pod) string {
	node := pod.Spec.NodeName
	if notReady := f.notReady(node); notReady != "" {
		return notReady
	}
	if pod.Status.Phase != corev1.PodUnknown && pod.Status.Reason != "NodeLost" {
		return ""
	}
	text := "the pod's phase is " + string(pod.Status.Phase)
	if node != "" {
		text += ", on node " + node
	}
	return text + colon(pod.Status.Message)
}

// condition returns a condition of a pod; the zero condition if the pod does not have it.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return &corev1.PodCondition{}
}

func (*facts) schedulingGated(pod *corev1.Pod) string {
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return strings.Join(names, ", ")
}

func (*facts) unschedulable(pod *corev1.Pod) string {
	c := condition(pod, corev1.PodScheduled)
	if c.Type == "" || c.Status == corev1.ConditionTrue || pod.Spec.NodeName != "" {
		return ""
	}
	return cmp.Or(c.Message, c.Reason, "the condition PodScheduled is not True")
}

func (f *facts) noScheduler(pod *corev1.Pod) string {
	if condition(pod, corev1.PodScheduled).Type != "" || pod.Spec.NodeName != "" || pod.Status.Phase != corev1.PodPending || !f.overdue(pod.CreationTimestamp.Time) {
		return ""
	}
	return "schedulerName is " + cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

// starting reports whether a pod has a node, and none of its containers has run.
func starting(pod *corev1.Pod) bool {
	for c := range containers(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Running != nil || c.State.Terminated != nil {
			return false
		}
	}
	return pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != ""
}

func (f *facts) startFailing(pod *corev1.Pod) string {
	event := f.lastEvent("Pod", pod)
	if event == nil || event.Type != corev1.EventTypeWarning || !starting(pod) {
		return ""
	}
	return event.Reason + colon(event.Message)
}

func (f *facts) startOverdue(pod *corev1.Pod) string {
	since := latest(pod.CreationTimestamp.Time, condition(pod, corev1.PodScheduled).LastTransitionTime.Time)
	if !starting(pod) || !f.past(since, startPatience) {
		return ""
	}
	return "no container has started on node " + pod.Spec.NodeName + " in " + duration.HumanDuration(f.View.Now.Sub(since))
}

// finished returns when the last container of a pod finished; zero if none has, or if one
// has not started. It also returns the first container that still runs.
func finished(pod *corev1.Pod) (last time.Time, running string) {
	for i := range pod.Status.ContainerStatuses {
		switch c := &pod.Status.ContainerStatuses[i]; {
		case c.State.Terminated != nil:
			last = latest(last, c.State.Terminated.FinishedAt.Time)
		case c.State.Running == nil:
			return time.Time{}, ""
		case running == "":
			running = c.Name
		}
	}
	return last, running
}

// outlasts says which container still runs, and when the others finished.
func (f *facts) outlasts(container string, last time.Time) string {
	return fmt.Sprintf("container %s is still running, though the others finished %s", container, f.ago(last))
}

// sidecarRunning finds pods whose containers have all finished, but whose sidecars still
// run after the grace period.
func (f *facts) sidecarRunning(pod *corev1.Pod) string {
	last, running := finished(pod)
	grace := pod.Spec.TerminationGracePeriodSeconds // in seconds; the default is shorter than patience
	if running != "" || !f.overdue(last) || grace != nil && f.View.Now.Sub(last)/time.Second < time.Duration(*grace) {
		return ""
	}
	for status := range sidecar.Statuses(pod) {
		if status.State.Running != nil {
			return f.outlasts(status.Name, last)
		}
	}
	return ""
}

// containerRunning finds pods in which some containers finished long ago and others still
// run.
func (f *facts) containerRunning(pod *corev1.Pod) string {
	last, running := finished(pod)
	if running == "" || !f.past(last, containerPatience) {
		return ""
	}
	return f.outlasts(running, last)
}

// Failure is a failed pod and the way in which it failed.
type Failure struct {
	// Pod is the name of the pod.
	Pod string
	// Fault says how the pod failed. It is for people.
	Fault string
	// Match is the rule that the pod matches.
	Match failurepolicy.Match
}

// LastFailure returns the pod of the Job that failed last, by its finish time. If several
// finished at the same time, it returns the first. It is useful for Jobs that are not
// Indexed; in an Indexed Job each index has its own last failure. If no failed pod is
// known, it returns the zero Failure.
func (e Explanation) LastFailure() Failure {
	o := e.about
	if o.Outcome == nil {
		return Failure{}
	}
	var last *census.Record
	for r := range o.View.Census.All() {
		if !r.Failed || !r.Valid {
			continue
		}
		if last == nil || r.Finish().After(last.Finish()) || r.Finish().Equal(last.Finish()) && r.Before(last) {
			last = r
		}
	}
	if last == nil {
		return Failure{}
	}
	return o.failure(last)
}

// failure says how a pod failed.
func (o outcome) failure(r *census.Record) Failure {
	return Failure{Pod: r.Pod.Name, Fault: fault(r.Pod), Match: o.View.Spec.Policy.Match(r.Pod)}
}

// fault says how a pod failed, from its status: the reason, the first container that did
// not exit with 0, and the disruption condition.
func fault(pod *corev1.Pod) string {
	parts := []string{pod.Status.Reason}
	for c := range containers(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			parts = append(parts, "container "+c.Name+", "+exit(end))
			break
		}
	}
	if c := condition(pod, corev1.DisruptionTarget); c.Status == corev1.ConditionTrue {
		parts = append(parts, strings.TrimSuffix("disrupted by "+c.Reason, " by "))
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case pod.DeletionTimestamp != nil:
		return "deleted"
	}
	return "the pod gives no reason"
}
