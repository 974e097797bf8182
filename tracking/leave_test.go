package tracking_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/tracking"
)

// KEP-2307 § Upgrade / Downgrade Strategy: "It removes finalizers from the Pods
// owned by it [...]. Sets .status.uncountedTerminatedPods to nil."
func TestLeaveTracking(t *testing.T) {
	job := newJob()
	job.Status = batchv1.JobStatus{Active: 1, Succeeded: 2, Failed: 3, UncountedTerminatedPods: lists(uids("s"), nil)}
	before := job.DeepCopy()
	leave := tracking.LeaveTracking(job, []*corev1.Pod{
		newPod("r"), newPod("s", succeeded), newPod("f", failed), newPod("d", deleted), newPod("free", released),
	})
	same(t, "strip", uidsOf(leave.Strip), []types.UID{"r", "s", "f", "d"})
	same(t, "status", leave.Status, &batchv1.JobStatus{Active: 1, Succeeded: 2, Failed: 3})
	same(t, "the Job", job, before)
}
