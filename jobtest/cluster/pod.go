package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These functions make the changes that can happen to a pod. Each returns the next version, or nil
// if the pod is gone, and does not change its argument. The clusters, the kubelets of packages
// jobtest/kube and live, and searches, which keep versions of pods, share them.

// stamp truncates a time to seconds, as the API server does.
func stamp(now time.Time) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }

// PodRun says how the containers of a pod run.
type PodRun struct {
	Unready bool
	// Restarts is the restart count of the containers.
	Restarts int32
}

// PodEnd says how a pod ends.
type PodEnd struct {
	// Exit is the exit code of all containers except those in Exits.
	Exit  int32
	Exits map[string]int32
	// Conditions are added to the status with the phase.
	Conditions []corev1.PodCondition
	// Reason is the reason in the status of the pod.
	Reason string
	// Lost pods fail without container statuses.
	Lost bool
}

func (e PodEnd) code(container string) int32 {
	if code, ok := e.Exits[container]; ok {
		return code
	}
	return e.Exit
}

// RunningStatus returns the status that the kubelet writes when the containers of a pod run.
func RunningStatus(pod *corev1.Pod, how PodRun, now time.Time) corev1.PodStatus {
	at := stamp(now)
	status := *pod.Status.DeepCopy()
	status.Phase, status.StartTime = corev1.PodRunning, &at
	ready, reason := corev1.ConditionTrue, ""
	if how.Unready {
		ready, reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	setCondition(&status, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, at)
	setReady(&status, ready, reason, at)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	status.ContainerStatuses, status.InitContainerStatuses = nil, nil
	for _, c := range pod.Spec.InitContainers {
		state, sidecar := exited(0, at, at), false
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			state, sidecar = running, true
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, Started: &sidecar, State: state})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image,
			Ready: !how.Unready, Started: new(true), RestartCount: how.Restarts, State: running})
	}
	return status
}

// EndedStatus returns the status that the kubelet writes when the containers of a pod have terminated. A
// pod that is not running runs first.
func EndedStatus(pod *corev1.Pod, run PodRun, how PodEnd, now time.Time) corev1.PodStatus {
	at := stamp(now)
	status := *pod.Status.DeepCopy()
	if status.Phase != corev1.PodRunning {
		status = RunningStatus(pod, run, now)
	}
	failed := how.Lost || how.Exit != 0 && len(status.ContainerStatuses) == 0
	for i := range status.ContainerStatuses {
		c := &status.ContainerStatuses[i]
		code, started := how.code(c.Name), at
		if c.State.Running != nil {
			started = c.State.Running.StartedAt
		}
		failed = failed || code != 0
		c.Ready, c.Started, c.State = false, new(false), exited(code, started, at)
	}
	for i, c := range status.InitContainerStatuses {
		if c.State.Terminated == nil {
			status.InitContainerStatuses[i].State = exited(0, at, at)
		}
	}
	reason := "PodCompleted"
	status.Phase, status.Reason = corev1.PodSucceeded, how.Reason
	if failed {
		status.Phase, reason = corev1.PodFailed, "PodFailed"
	}
	if how.Lost {
		status.ContainerStatuses = nil
	}
	setReady(&status, corev1.ConditionFalse, reason, at)
	for _, c := range how.Conditions {
		setCondition(&status, c, at)
	}
	return status
}

// StartPod schedules a pod and makes it running and ready.
func StartPod(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if HasEnded(pod) || pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning {
		return pod
	}
	next := *pod // shares the rest, which is immutable
	next.Spec.NodeName, next.Status = "node", RunningStatus(pod, PodRun{}, now)
	return &next
}

// EndPod terminates the containers of a pod with an exit code, and sets the phase. If the
// pod was being deleted, its grace period ends.
func EndPod(pod *corev1.Pod, code int32, now time.Time) *corev1.Pod {
	if HasEnded(pod) {
		return pod
	}
	next := *StartPod(pod, now)
	next.Status = EndedStatus(&next, PodRun{}, PodEnd{Exit: code}, now)
	return endGrace(&next)
}

func exited(code int32, from, to metav1.Time) corev1.ContainerState {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
		StartedAt: from, FinishedAt: to}}
}

// RestartPod restarts the containers of a pod, as a kubelet does with the restart policy
// OnFailure.
func RestartPod(pod *corev1.Pod) *corev1.Pod {
	if HasEnded(pod) || len(pod.Status.ContainerStatuses) == 0 {
		return pod
	}
	next := pod.DeepCopy()
	for i := range next.Status.ContainerStatuses {
		next.Status.ContainerStatuses[i].RestartCount++
	}
	return next
}

// ReadyPod sets whether a pod is ready.
func ReadyPod(pod *corev1.Pod, ready corev1.ConditionStatus, now time.Time) *corev1.Pod {
	if hasStatus(pod, corev1.PodReady, ready) {
		return pod
	}
	next := pod.DeepCopy()
	setReady(&next.Status, ready, "", stamp(now))
	return next
}

// DisruptPod adds the condition DisruptionTarget, which announces an eviction.
func DisruptPod(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if HasEnded(pod) || hasStatus(pod, corev1.DisruptionTarget, corev1.ConditionTrue) {
		return pod
	}
	next := pod.DeepCopy()
	setCondition(&next.Status,
		corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}, stamp(now))
	return next
}

// FailPod marks a pod as failed without container statuses, because its node is lost or it
// was never scheduled.
func FailPod(pod *corev1.Pod) *corev1.Pod {
	if HasEnded(pod) {
		return pod
	}
	next := pod.DeepCopy()
	next.Status.Phase = corev1.PodFailed
	next.Status.ContainerStatuses = nil
	return endGrace(next)
}

// DeletePod deletes a pod. If the pod is on no node or has ended, the grace period is zero.
// A second deletion can only shorten the grace period.
func DeletePod(pod *corev1.Pod, grace int64, now time.Time) *corev1.Pod {
	if pod.Spec.NodeName == "" || HasEnded(pod) {
		grace = 0
	}
	if pod.DeletionTimestamp != nil && graceOf(pod) <= grace {
		return pod
	}
	next := pod.DeepCopy()
	if next.DeletionTimestamp == nil {
		next.DeletionTimestamp = new(stamp(now.Add(time.Duration(grace) * time.Second)))
	}
	next.DeletionGracePeriodSeconds = &grace
	return nilIfGone(next)
}

// EditPod applies any change to a pod.
func EditPod(pod *corev1.Pod, how func(*corev1.Pod)) *corev1.Pod {
	next := pod.DeepCopy()
	how(next)
	return nilIfGone(next)
}

// endGrace ends the grace period of a pod that has stopped.
func endGrace(pod *corev1.Pod) *corev1.Pod {
	if pod.DeletionTimestamp != nil {
		pod.DeletionGracePeriodSeconds = new(int64)
	}
	return nilIfGone(pod)
}

// nilIfGone returns nil for a deleted pod with neither a finalizer nor a grace period left.
func nilIfGone(pod *corev1.Pod) *corev1.Pod {
	if pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && graceOf(pod) == 0 {
		return nil
	}
	return pod
}

// graceOf returns the grace period of a pod that is being deleted. An edited pod may have
// none.
func graceOf(pod *corev1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return *pod.DeletionGracePeriodSeconds
}

// HasEnded reports whether the pod has succeeded or failed.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// IsActive reports whether the pod has not ended and is not being deleted.
func IsActive(pod *corev1.Pod) bool { return !HasEnded(pod) && pod.DeletionTimestamp == nil }

func hasStatus(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// setReady sets whether a pod and its containers are ready.
func setReady(to *corev1.PodStatus, ready corev1.ConditionStatus, reason string, at metav1.Time) {
	setCondition(to, corev1.PodCondition{Type: corev1.PodReady, Status: ready, Reason: reason}, at)
	setCondition(to, corev1.PodCondition{Type: corev1.ContainersReady, Status: ready, Reason: reason}, at)
}

func setCondition(to *corev1.PodStatus, next corev1.PodCondition, at metav1.Time) {
	next.LastTransitionTime = at
	i := slices.IndexFunc(to.Conditions, func(c corev1.PodCondition) bool { return c.Type == next.Type })
	if i < 0 {
		to.Conditions = append(to.Conditions, next)
		return
	}
	to.Conditions[i] = next
}
