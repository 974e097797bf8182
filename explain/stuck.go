package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/internal/sidecar"
)

// The reasons that the kubelet gives for a waiting container.
var (
	imagePull = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	containerConfig = []string{"CreateContainerConfigError", "CreateContainerError"}
	// usual are the reasons of a container that is about to start.
	usual = []string{"", "ContainerCreating", "PodInitializing"}
)

const (
	crashLoopBackOff = "CrashLoopBackOff"
	// startPatience is how long a pod without a warning may take to start. Large images
	// take minutes.
	startPatience = 10 * time.Minute
	// containerPatience is how long a container may outlast the others of its pod.
	containerPatience = 10 * time.Minute
	// defaultGrace is what the API server fills in for a pod without a grace period.
	defaultGrace = 30
)

// waiting returns the first container that waits for a wanted reason.
func waiting(pod *corev1.Pod, wanted func(string) bool) *corev1.ContainerStatus {
	for _, all := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			if w := all[i].State.Waiting; w != nil && wanted(w.Reason) {
				return &all[i]
			}
		}
	}
	return nil
}

// waitsFor finds pods with a container that waits for one of the given reasons. If none is
// given, it finds a container that waits for an unusual reason.
func waitsFor(reasons ...string) func(*facts, *corev1.Pod) (string, bool) {
	wanted := func(reason string) bool { return slices.Contains(reasons, reason) }
	if len(reasons) == 0 {
		wanted = func(reason string) bool { return !slices.Contains(usual, reason) }
	}
	return func(_ *facts, pod *corev1.Pod) (string, bool) {
		c := waiting(pod, wanted)
		if c == nil {
			return "", false
		}
		w := c.State.Waiting
		return fmt.Sprintf("container %s: %s%s", c.Name, w.Reason, colon(w.Message)), true
	}
}

func (f *facts) crashLoop(pod *corev1.Pod) (string, bool) {
	c := waiting(pod, func(reason string) bool { return reason == crashLoopBackOff })
	if c == nil {
		return "", false
	}
	text := fmt.Sprintf("container %s: %s", c.Name, crashLoopBackOff)
	if end := c.LastTerminationState.Terminated; end != nil {
		text += fmt.Sprintf(" after exit code %d", end.ExitCode)
		if end.Reason != "" && end.Reason != "Error" {
			text += ", " + end.Reason
		}
	}
	return text, true
}

// nodeLost finds pods whose node is not ready, or whose phase is not known.
func (f *facts) nodeLost(pod *corev1.Pod) (string, bool) {
	node := pod.Spec.NodeName
	notReady := f.notReady(node)
	switch {
	case notReady != "":
		return notReady, true
	case pod.Status.Phase == corev1.PodUnknown, pod.Status.Reason == "NodeLost":
		text := "the pod's phase is " + string(pod.Status.Phase)
		if node != "" {
			text += ", on node " + node
		}
		return text + colon(pod.Status.Message), true
	}
	return "", false
}

func podScheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c
		}
	}
	return nil
}

func (f *facts) schedulingGated(pod *corev1.Pod) (string, bool) {
	c := podScheduled(pod)
	if len(pod.Spec.SchedulingGates) == 0 && (c == nil || c.Status == corev1.ConditionTrue || c.Reason != corev1.PodReasonSchedulingGated) {
		return "", false
	}
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return strings.Join(names, ", "), true
}

func (f *facts) unschedulable(pod *corev1.Pod) (string, bool) {
	c := podScheduled(pod)
	if c == nil || c.Status == corev1.ConditionTrue || pod.Spec.NodeName != "" {
		return "", false
	}
	if c.Message == "" {
		return c.Reason, true
	}
	return c.Message, true
}

func (f *facts) noScheduler(pod *corev1.Pod) (string, bool) {
	if podScheduled(pod) != nil || pod.Spec.NodeName != "" || pod.Status.Phase != corev1.PodPending || !f.overdue(pod.CreationTimestamp.Time) {
		return "", false
	}
	name := pod.Spec.SchedulerName
	if name == "" {
		name = corev1.DefaultSchedulerName
	}
	return "schedulerName is " + name, true
}

// starting reports whether a pod has a node, and none of its containers has run.
func starting(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName != "" && !slices.ContainsFunc(
		slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(c corev1.ContainerStatus) bool { return c.State.Running != nil || c.State.Terminated != nil })
}

func (f *facts) startFailing(pod *corev1.Pod) (string, bool) {
	event := f.lastEvent(pod)
	if event == nil || event.Type != corev1.EventTypeWarning || !starting(pod) {
		return "", false
	}
	return event.Reason + colon(event.Message), true
}

func (f *facts) startOverdue(pod *corev1.Pod) (string, bool) {
	since := pod.CreationTimestamp.Time
	if c := podScheduled(pod); c != nil && c.LastTransitionTime.After(since) {
		since = c.LastTransitionTime.Time
	}
	if !starting(pod) || !f.past(since, startPatience) {
		return "", false
	}
	return "no container has started on node " + pod.Spec.NodeName + " in " + duration.HumanDuration(f.View.Now.Sub(since)), true
}

// ends says which containers of a pod have finished.
type ends struct {
	finished  int
	last      time.Time // when the last finished container finished
	unstarted bool      // a container neither runs nor has finished
	running   string    // the first running container; empty if none runs
}

func endsOf(statuses []corev1.ContainerStatus) (e ends) {
	for i := range statuses {
		switch state := &statuses[i].State; {
		case state.Terminated != nil:
			e.finished++
			if t := state.Terminated.FinishedAt.Time; t.After(e.last) {
				e.last = t
			}
		case state.Running == nil:
			e.unstarted = true
		case e.running == "":
			e.running = statuses[i].Name
		}
	}
	return e
}

// outlasts says which container still runs, and when the others finished.
func (f *facts) outlasts(container string, last time.Time) string {
	return fmt.Sprintf("container %s is still running, though the others finished %s", container, f.ago(last))
}

// sidecarRunning finds pods whose containers have all finished, but whose sidecars still
// run after the grace period.
func (f *facts) sidecarRunning(pod *corev1.Pod) (string, bool) {
	e := endsOf(pod.Status.ContainerStatuses)
	if e.finished == 0 || e.running != "" || e.unstarted {
		return "", false
	}
	grace := int64(defaultGrace)
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = *s
	}
	if !f.overdue(e.last) || f.View.Now.Sub(e.last)/time.Second < time.Duration(grace) {
		return "", false
	}
	for status := range sidecar.Statuses(pod) {
		if status.State.Running != nil {
			return f.outlasts(status.Name, e.last), true
		}
	}
	return "", false
}

// containerRunning finds pods in which some containers finished long ago and others still
// run.
func (f *facts) containerRunning(pod *corev1.Pod) (string, bool) {
	e := endsOf(pod.Status.ContainerStatuses)
	if e.finished == 0 || e.running == "" || e.unstarted || !f.past(e.last, containerPatience) {
		return "", false
	}
	return f.outlasts(e.running, e.last), true
}
