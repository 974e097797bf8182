package lifecycle

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// EnterInterim adds the interim condition of an End to a status, unless the status has it
// already. It is stored before any finalizer is removed, so that the reason survives the
// pods that it came from. As in the Job controller, a condition of that type that is not
// True stays in the list.
func EnterInterim(out *batchv1.JobStatus, end End, now time.Time) {
	if !end.Ended() || jobstatus.True(out.Conditions, end.Interim) != nil {
		return
	}
	c := newCondition(end.Interim, corev1.ConditionTrue, end.Reason, end.Message, now)
	out.Conditions = append(slices.Clip(out.Conditions), c)
}

// EnterTerminal adds the terminal condition of an End to a status and returns true, if the
// status has the interim condition and no pod is active, terminating or uncounted.
// Otherwise it returns false and changes nothing.
//
// It also sets the times that the API server requires of a finished Job. A Job that never
// started gets a start time. If the clock is before the start time, the completion time is
// the start time.
func EnterTerminal(out *batchv1.JobStatus, end End, terminating int32, now time.Time) bool {
	lists := cmp.Or(out.UncountedTerminatedPods, &batchv1.UncountedTerminatedPods{})
	if !end.Ended() || jobstatus.True(out.Conditions, end.Interim) == nil || out.Active > 0 || terminating > 0 ||
		len(lists.Succeeded)+len(lists.Failed) > 0 {
		return false
	}
	if out.StartTime.IsZero() {
		start := metav1.NewTime(now)
		out.StartTime = &start
	}
	c := newCondition(end.Terminal(), corev1.ConditionTrue, end.Reason, end.Message, now)
	out.Conditions, _ = set(out.Conditions, c)
	// The API server rejects any change of a completion time, so one that was set too
	// early stays.
	if end.Succeeds() && out.CompletionTime.IsZero() {
		completed := metav1.NewTime(now)
		if completed.Before(out.StartTime) {
			completed = *out.StartTime
		}
		out.CompletionTime = &completed
	}
	return true
}
