package jobstatus

import (
	"cmp"
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// PodsHeld returns how many pods of the Job still hold resources according to its status:
// the active and the terminating pods. A queue may take back the rest of its quota if the Job
// gets no more pods: its end is decided, or its [Suspension] is known to be observed. For other
// Jobs see DemandOf in package decide.
func PodsHeld(job *batchv1.Job) int32 {
	if job == nil {
		return 0
	}
	terminating := *cmp.Or(job.Status.Terminating, new(int32))
	return int32(min(int64(max(job.Status.Active, 0))+int64(max(terminating, 0)), math.MaxInt32))
}

// Reclaimable returns how many of the pods that a queue has reserved for the Job it may give away for good: as many as
// the Job will never have at once again, however its pods end. The queue has reserved the lesser of parallelism and
// completions.
//
// The count never falls unless the spec is edited: it depends on what has finished, not on pods that terminate or are
// tried again, nor on suspension. So a Job that starts or is resumed needs the rest. After an edit of parallelism or
// completions, subtract it from what is reserved for the new spec. What the Job needs at the moment, which may be less,
// and rises again, says DemandOf in package decide.
func Reclaimable(job *batchv1.Job) int32 {
	finished := int32(IndexesFinished(job))
	if finished == 0 {
		return 0
	}
	reserved := max(*cmp.Or(job.Spec.Parallelism, new(int32(1))), 0)
	// Pods of a work queue are not replaced after the first success. More are left if parallelism was lowered.
	needed := max(reserved-finished, PodsHeld(job))
	if n := job.Spec.Completions; n != nil {
		reserved, needed = min(reserved, *n), *n-finished
	}
	return max(reserved-needed, 0)
}

// IndexesFinished returns the number of indexes of an Indexed Job that are completed or
// failed, below completions, each counted once. For other Jobs it returns the number of
// succeeded pods, up to completions.
func IndexesFinished(job *batchv1.Job) int {
	if job == nil {
		return 0
	}
	if IsIndexed(&job.Spec) {
		return Indexes(job).Finished.Len()
	}
	return int(max(0, min(job.Status.Succeeded, *cmp.Or(job.Spec.Completions, new(int32(math.MaxInt32))))))
}

// IndexSets holds the indexes of an Indexed Job by their state in the status.
type IndexSets struct {
	Completed indexset.Set
	Failed    indexset.Set
	// Finished lists the indexes that are completed or failed.
	Finished indexset.Set
	// Unfinished lists all other indexes.
	Unfinished indexset.Set
}

// Indexes parses the indexes in the status of an Indexed Job, as the Job controller does.
// For other Jobs it returns empty sets.
func Indexes(job *batchv1.Job) IndexSets {
	if job == nil || !IsIndexed(&job.Spec) || job.Spec.Completions == nil {
		return IndexSets{}
	}
	completions := *job.Spec.Completions
	completed, failed := ReadIndexes(&job.Status, completions)
	finished := completed.Union(failed)
	return IndexSets{completed, failed.Difference(completed), finished, finished.Complement(completions)}
}

// ReadIndexes returns the completed and the failed indexes of a status, read as the Job
// controller does. An index may be in both sets.
func ReadIndexes(status *batchv1.JobStatus, completions int32) (completed, failed indexset.Set) {
	completed, _ = indexset.ParseDamaged(status.CompletedIndexes, completions)
	failed, _ = indexset.ParseDamaged(*cmp.Or(status.FailedIndexes, new(string)), completions)
	return completed, failed
}

// IsIndexed reports whether the Job has completion indexes.
func IsIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}
