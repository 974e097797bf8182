package jobstatus

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// PodsHeld returns how many pods of the Job still hold resources according to its status:
// the active and the terminating pods. A queue may take back the rest of its quota if the Job
// gets no more pods: its end is decided, or its [Suspension] is known to be observed. For other
// Jobs see [DemandOf].
func PodsHeld(job *batchv1.Job) int32 {
	if job == nil {
		return 0
	}
	held := numberOf(&job.Status.Active, 0) + numberOf(job.Status.Terminating, 0)
	return int32(min(held, math.MaxInt32))
}

// IndexesFinished returns the number of indexes of an Indexed Job that are completed or
// failed, below completions, each counted once. For other Jobs it returns the number of
// succeeded pods, up to completions.
func IndexesFinished(job *batchv1.Job) int {
	if job == nil {
		return 0
	}
	if lifecycle.IsIndexed(&job.Spec) {
		return Indexes(job).Finished.Len()
	}
	return int(min(numberOf(&job.Status.Succeeded, 0), numberOf(job.Spec.Completions, math.MaxInt32)))
}

// numberOf returns a number of the API, 0 if it is negative.
func numberOf(p *int32, absent int64) int64 {
	if p == nil {
		return absent
	}
	return int64(max(*p, 0))
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
	if job == nil || !lifecycle.IsIndexed(&job.Spec) || job.Spec.Completions == nil {
		return IndexSets{}
	}
	completions := *job.Spec.Completions
	completed, failed := lifecycle.ReadIndexes(&job.Status, completions)
	sets := IndexSets{Completed: completed, Failed: failed.Difference(completed), Finished: completed.Union(failed)}
	sets.Unfinished = sets.Finished.Complement(completions)
	return sets
}
