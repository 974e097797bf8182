package lifecycle

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change says what became of the Suspended condition.
type Change uint8

const (
	// Unchanged: nothing to tell.
	Unchanged Change = iota
	// Suspended: the Job has been suspended.
	Suspended
	// Resumed: the Job has been resumed.
	Resumed
)

// Suspend brings the Suspended condition of a status in line with the spec. A
// suspended Job loses its start time, and a resumed one starts anew, so that
// its deadline is measured over the time in which it is active (KEP-2232).
//
// The start time of a Job that is not suspended may change only together with
// the condition going from True to False: the API server refuses anything else.
// So a condition that was not True to begin with, which nothing but a write by
// another controller explains, leaves the start time alone.
func Suspend(status *batchv1.JobStatus, suspend bool, now time.Time) Change {
	if status == nil {
		return Unchanged
	}
	want := newCondition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", now)
	if suspend {
		want = newCondition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", now)
	}
	wasSuspended := True(status.Conditions, batchv1.JobSuspended) != nil
	list, changed := set(status.Conditions, want)
	if !changed {
		return Unchanged
	}
	status.Conditions = list
	if suspend {
		status.StartTime = nil
		return Suspended
	}
	if wasSuspended {
		start := metav1.NewTime(now)
		status.StartTime = &start
	}
	return Resumed
}
