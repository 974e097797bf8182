package jobstatus

import (
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
	held := int64(max(job.Status.Active, 0))
	if terminating := job.Status.Terminating; terminating != nil {
		held += int64(max(*terminating, 0))
	}
	return int32(min(held, math.MaxInt32))
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
	finished := max(job.Status.Succeeded, 0)
	if completions := job.Spec.Completions; completions != nil {
		finished = min(finished, max(*completions, 0))
	}
	return int(finished)
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
	sets := IndexSets{Completed: completed, Failed: failed.Difference(completed), Finished: completed.Union(failed)}
	sets.Unfinished = sets.Finished.Complement(completions)
	return sets
}

// ReadIndexes returns the completed and the failed indexes of a status, read as the Job
// controller does. An index may be in both sets.
func ReadIndexes(status *batchv1.JobStatus, completions int32) (completed, failed indexset.Set) {
	completed, _ = indexset.ParseDamaged(status.CompletedIndexes, completions)
	if status.FailedIndexes != nil {
		failed, _ = indexset.ParseDamaged(*status.FailedIndexes, completions)
	}
	return completed, failed
}

// IsIndexed reports whether the Job has completion indexes.
func IsIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}
