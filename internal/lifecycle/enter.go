package lifecycle

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EnterInterim adds the interim condition of an End to a status, unless the status has it
// already. It is stored before any finalizer is removed, so that the reason survives the
// pods that it came from. As in the Job controller, a condition of that type that is not
// True stays in the list.
func EnterInterim(status *batchv1.JobStatus, end End, now time.Time) {
	if status == nil || !end.Ended() || True(status.Conditions, end.Interim) != nil {
		return
	}
	c := newCondition(end.Interim, corev1.ConditionTrue, end.Reason, end.Message, now)
	status.Conditions = append(slices.Clip(status.Conditions), c)
}

// EnterTerminal adds the terminal condition of an End to a status and returns true, if the
// status has the interim condition and no pod is active, terminating or uncounted.
// Otherwise it returns false and changes nothing.
//
// It also sets the times that the API server requires of a finished Job. A Job that never
// started gets a start time. If the clock is before the start time, the completion time is
// the start time.
func EnterTerminal(status *batchv1.JobStatus, end End, terminating int32, now time.Time) bool {
	if status == nil || !end.Ended() || True(status.Conditions, end.Interim) == nil {
		return false
	}
	if status.Active > 0 || terminating > 0 || uncounted(status) > 0 {
		return false
	}
	if status.StartTime.IsZero() {
		start := metav1.NewTime(now)
		status.StartTime = &start
	}
	c := newCondition(end.Terminal(), corev1.ConditionTrue, end.Reason, end.Message, now)
	status.Conditions, _ = set(status.Conditions, c)
	// The API server rejects any change of a completion time, so one that was set too
	// early stays.
	if end.Succeeds() && status.CompletionTime.IsZero() {
		completed := metav1.NewTime(now)
		if completed.Before(status.StartTime) {
			completed = *status.StartTime
		}
		status.CompletionTime = &completed
	}
	return true
}

func uncounted(status *batchv1.JobStatus) int {
	if status.UncountedTerminatedPods == nil {
		return 0
	}
	return len(status.UncountedTerminatedPods.Succeeded) + len(status.UncountedTerminatedPods.Failed)
}
