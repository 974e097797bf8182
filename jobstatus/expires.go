package jobstatus

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// ExpiresAt returns when a finished Job may be deleted, computed like the TTL controller
// of Kubernetes: ttlSecondsAfterFinished after the terminal condition became true. It
// returns false if the Job does not set that field, has not finished, or is already being
// deleted. It also returns false if the condition has no time; the TTL controller fails
// for such a Job.
//
// The TTL controller deletes only Jobs, not custom resources. Before you delete one, read
// it live, because its TTL may have changed. Delete it in the foreground, with its UID as
// a precondition.
func ExpiresAt(job *batchv1.Job) (at time.Time, ok bool) {
	end := Finished(job)
	if end == nil || end.LastTransitionTime.IsZero() || job.Spec.TTLSecondsAfterFinished == nil ||
		job.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	return end.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
}
