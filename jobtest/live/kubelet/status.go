package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// killed is the exit code of a container that SIGTERM ends.
const killed = 128 + 15

func running(pod *corev1.Pod, life Life, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	ready, reason := corev1.ConditionTrue, ""
	if life.Unready {
		ready, reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &at}
	for _, c := range []corev1.PodCondition{
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: ready, Reason: reason},
		{Type: corev1.PodReady, Status: ready, Reason: reason},
	} {
		c.LastTransitionTime = at
		status.Conditions = append(status.Conditions, c)
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: !life.Unready, Started: new(true), RestartCount: life.Restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return status
}

func ended(pod *corev1.Pod, life Life, how End, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	status := corev1.PodStatus{Phase: corev1.PodSucceeded, Reason: how.Reason}
	started := at
	if pod.Status.StartTime != nil {
		started = *pod.Status.StartTime
	} else {
		status.StartTime = &at
	}
	for _, c := range pod.Spec.Containers {
		code, named := how.Exits[c.Name]
		if !named {
			code = how.Exit
		}
		if code != 0 {
			status.Phase = corev1.PodFailed
		}
		status.ContainerStatuses = append(status.ContainerStatuses, terminated(c, code, started, at, life.Restarts))
	}
	if how.Lost {
		status.Phase, status.ContainerStatuses = corev1.PodFailed, nil
	}
	reason := "PodCompleted"
	if status.Phase == corev1.PodFailed {
		reason = "PodFailed"
	}
	conditions := []corev1.PodCondition{
		{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: reason},
		{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason},
	}
	for _, c := range append(conditions, how.Conditions...) {
		c.LastTransitionTime = at
		status.Conditions = append(status.Conditions, c)
	}
	return status
}

func terminated(c corev1.Container, code int32, from, to metav1.Time, restarts int32) corev1.ContainerStatus {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, Started: new(false), RestartCount: restarts,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: from, FinishedAt: to,
		}},
	}
}
