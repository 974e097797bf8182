package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These functions make the changes that can happen to a pod. Each returns the next version, or nil
// if the pod is gone, and does not change its argument. They are exported for searches, which keep
// versions of pods instead of clusters.

// stamp truncates a time to seconds, as the API server does.
func stamp(now time.Time) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }

// StartPod schedules a pod and makes it running and ready.
func StartPod(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if HasEnded(pod) || pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning {
		return pod
	}
	next := withStatus(pod)
	at := stamp(now)
	next.Spec.NodeName = "node"
	next.Status.Phase, next.Status.StartTime = corev1.PodRunning, &at
	setCondition(next, corev1.PodReady, corev1.ConditionTrue, at)
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}
	next.Status.ContainerStatuses, next.Status.InitContainerStatuses = nil, nil
	for _, c := range next.Spec.InitContainers {
		state := exited(0, at)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			state = running // a sidecar
		}
		next.Status.InitContainerStatuses = append(next.Status.InitContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, Ready: true, State: state})
	}
	for _, c := range next.Spec.Containers {
		next.Status.ContainerStatuses = append(next.Status.ContainerStatuses,
			corev1.ContainerStatus{Name: c.Name, Ready: true, State: running})
	}
	return next
}

// EndPod terminates the containers of a pod with an exit code, and sets the phase. If the
// pod was being deleted, its grace period ends.
func EndPod(pod *corev1.Pod, code int32, now time.Time) *corev1.Pod {
	if HasEnded(pod) {
		return pod
	}
	next := StartPod(pod, now)
	if next == pod {
		next = withStatus(pod)
	}
	at := stamp(now)
	next.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		next.Status.Phase = corev1.PodFailed
	}
	setCondition(next, corev1.PodReady, corev1.ConditionFalse, at)
	for i := range next.Status.ContainerStatuses {
		next.Status.ContainerStatuses[i].Ready = false
		next.Status.ContainerStatuses[i].State = exited(code, at)
	}
	for i, c := range next.Status.InitContainerStatuses {
		if c.State.Terminated == nil {
			next.Status.InitContainerStatuses[i].State = exited(0, at)
		}
	}
	return endGrace(next)
}

// withStatus copies a pod and its status. Pods are immutable, so the versions share the
// rest.
func withStatus(pod *corev1.Pod) *corev1.Pod {
	next := *pod
	pod.Status.DeepCopyInto(&next.Status)
	return &next
}

func exited(code int32, at metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}}
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
	setCondition(next, corev1.PodReady, ready, stamp(now))
	return next
}

// DisruptPod adds the condition DisruptionTarget, which announces an eviction.
func DisruptPod(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if HasEnded(pod) || hasStatus(pod, corev1.DisruptionTarget, corev1.ConditionTrue) {
		return pod
	}
	next := pod.DeepCopy()
	setCondition(next, corev1.DisruptionTarget, corev1.ConditionTrue, stamp(now))
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
		at := stamp(now.Add(time.Duration(grace) * time.Second))
		next.DeletionTimestamp = &at
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

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, at metav1.Time) {
	next := corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: at}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			pod.Status.Conditions[i] = next
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, next)
}
