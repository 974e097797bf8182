package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What may happen to a pod. Each function returns the next version and leaves
// the one before as it was; nil is a pod that is gone. They are exported for
// searches, which keep versions instead of clusters.

// stamp returns a time as objects hold it: cut to seconds.
func stamp(now time.Time) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }

// StartPod schedules a pod and runs it, ready.
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
		next.Status.InitContainerStatuses = append(next.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: true, State: state})
	}
	for _, c := range next.Spec.Containers {
		next.Status.ContainerStatuses = append(next.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: true, State: running})
	}
	return next
}

// EndPod ends the containers of a pod with an exit code, and with it the pod. A
// pod that was being deleted is then confirmed as stopped.
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
	return stopped(next)
}

// withStatus copies a pod with its status. Pods are never changed, so the versions share
// what stays the same.
func withStatus(pod *corev1.Pod) *corev1.Pod {
	next := *pod
	pod.Status.DeepCopyInto(&next.Status)
	return &next
}

func exited(code int32, at metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}}
}

// RestartPod restarts the containers of a pod, as happens under the restart
// policy OnFailure.
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

// FailPod marks a pod as failed from outside, without a word of its containers:
// its node is lost, or it was never scheduled.
func FailPod(pod *corev1.Pod) *corev1.Pod {
	if HasEnded(pod) {
		return pod
	}
	next := pod.DeepCopy()
	next.Status.Phase = corev1.PodFailed
	next.Status.ContainerStatuses = nil
	return stopped(next)
}

// DeletePod asks for the deletion of a pod. One that runs on no node, or has
// ended, needs no grace. A second request can only shorten it.
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
	return unlessGone(next)
}

// EditPod changes a pod at will.
func EditPod(pod *corev1.Pod, how func(*corev1.Pod)) *corev1.Pod {
	next := pod.DeepCopy()
	how(next)
	return unlessGone(next)
}

// stopped takes the grace away from a pod that has stopped.
func stopped(pod *corev1.Pod) *corev1.Pod {
	if pod.DeletionTimestamp != nil {
		pod.DeletionGracePeriodSeconds = new(int64)
	}
	return unlessGone(pod)
}

// unlessGone returns nil for a deleted pod that nothing holds any more.
func unlessGone(pod *corev1.Pod) *corev1.Pod {
	if pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 && graceOf(pod) == 0 {
		return nil
	}
	return pod
}

// graceOf is the grace that a pod that is being deleted has left. One that was
// edited may name none.
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
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
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
