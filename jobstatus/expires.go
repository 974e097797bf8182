package jobstatus

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// ExpiresAt returns when a finished Job may be deleted, as the TTL controller of
// Kubernetes works it out: ttlSecondsAfterFinished after the terminal condition became
// true. It reports false for a Job that has no such field, has not finished, or is
// being deleted already, and for one whose condition has no time: the TTL controller
// fails on it each time.
//
// The TTL controller deletes Jobs alone, not objects of a kind of your own. Before you
// delete one, read it live: its TTL may have changed. Delete it in the foreground, with
// its UID as a precondition.
func ExpiresAt(job *batchv1.Job) (at time.Time, ok bool) {
	end := Finished(job)
	if end == nil || end.LastTransitionTime.IsZero() || job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	return end.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
}
