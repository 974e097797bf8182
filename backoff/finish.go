package backoff

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// FinishTime returns when a pod finished. It is the first of these times that the pod has:
//
//  1. the time at which the last of its containers finished, including restartable init
//     containers (sidecars);
//  2. the last transition of the Ready condition, if that is False;
//  3. the deletion timestamp minus the grace period: the time of the deletion request;
//  4. the creation timestamp.
//
// It never uses the current time, so it does not change while a pod lingers (KEP-3850,
// Exponential backoff delay issue).
//
// A pod has finished if its phase is Succeeded or Failed. A pod that is being deleted may count
// as failed before that, so it has a finish time as well. For any other pod, and for nil,
// FinishTime returns the zero time.
func FinishTime(pod *corev1.Pod) time.Time {
	if pod == nil || !finished(pod) {
		return time.Time{}
	}
	if t := containersFinish(pod); !t.IsZero() {
		return t
	}
	if t := unreadySince(pod.Status.Conditions); !t.IsZero() {
		return t
	}
	if pod.DeletionTimestamp != nil {
		return pod.DeletionTimestamp.Add(-gracePeriod(pod))
	}
	return pod.CreationTimestamp.Time
}

// finished reports whether a Job may count the pod. The Job controller asks for the finish time
// of no other pod.
func finished(pod *corev1.Pod) bool {
	phase := pod.Status.Phase
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded || pod.DeletionTimestamp != nil
}

// containersFinish returns when the last container finished. It returns the zero time if
// the containers do not say when.
//
// It keeps a quirk of the Job controller, which reads the sidecars after the regular
// containers: a regular container that has not finished only discards the result so far. If
// all sidecars have finished, the result is the time of the last sidecar, even if a regular
// container still runs.
func containersFinish(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		last = lastFinish(last, &pod.Status.ContainerStatuses[i])
		if last.IsZero() {
			break
		}
	}
	for status := range Sidecars(pod) {
		last = lastFinish(last, status)
		if last.IsZero() {
			break
		}
	}
	return last
}

// lastFinish returns the later of last and the time when one more container finished. It returns the
// zero time if the container has not finished or does not say when. A zero last is not known yet.
func lastFinish(last time.Time, status *corev1.ContainerStatus) time.Time {
	var at time.Time
	if end := status.State.Terminated; end != nil {
		at = end.FinishedAt.Time
	}
	if last.IsZero() || at.IsZero() || last.Before(at) {
		return at
	}
	return last
}

// unreadySince returns the transition time of the Ready condition if that is False, and the
// zero time otherwise. Like the Job controller it reads only the first Ready condition.
func unreadySince(conditions []corev1.PodCondition) time.Time {
	i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if i < 0 || conditions[i].Status != corev1.ConditionFalse {
		return time.Time{}
	}
	return conditions[i].LastTransitionTime.Time
}

// gracePeriod returns the grace period of the deletion. It saturates: a period that does not
// fit a Duration would wrap around and move the finish time after the deletion.
func gracePeriod(pod *corev1.Pod) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	seconds := *cmp.Or(pod.DeletionGracePeriodSeconds, new(int64))
	return time.Duration(min(max(seconds, -most), most)) * time.Second
}
