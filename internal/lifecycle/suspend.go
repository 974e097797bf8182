package lifecycle

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Suspend brings the Suspended condition of a status in line with the spec. Suspending
// clears the start time and resuming sets it to now, so that the deadline is measured over
// the time since the last resumption (KEP-2232). It reports whether that changed
// the condition.
//
// The API server allows a new start time of a Job that is not suspended only when the
// condition changes from True to False. If the condition was not True, which only a write
// by another controller explains, the start time stays.
func Suspend(out *batchv1.JobStatus, suspend bool, now time.Time) (changed bool) {
	want := newCondition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed", now)
	if suspend {
		want = newCondition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended", now)
	}
	wasSuspended := jobstatus.True(out.Conditions, batchv1.JobSuspended) != nil
	out.Conditions, changed = set(out.Conditions, want)
	switch {
	case changed && suspend:
		out.StartTime = nil
	case changed && wasSuspended:
		start := metav1.NewTime(now)
		out.StartTime = &start
	}
	return changed
}
