package lifecycle

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EnterInterim puts the interim condition of an End into a status, unless it
// has it already. It is stored before any finalizer goes, so that the reason
// survives the pods that gave it. A condition of that type that is not True
// stays beside it, as in the Job controller.
func EnterInterim(status *batchv1.JobStatus, end End, now time.Time) {
	if status == nil || !end.Ended() || True(status.Conditions, end.Interim) != nil {
		return
	}
	c := newCondition(end.Interim, corev1.ConditionTrue, end.Reason, end.Message, now)
	status.Conditions = append(slices.Clip(status.Conditions), c)
}

// EnterTerminal puts the terminal condition of an End into a status, if the
// status is ready for it, and reports whether it did: the interim condition must
// be there, and no pod may be active, terminating or uncounted.
//
// What the API server demands of a finished Job is seen to here. A Job that
// never started gets a start time, and a Job that the clock says was completed
// before it started is completed when it started.
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
	// A completion time that is there already, though the Job has not completed,
	// can never change again.
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
