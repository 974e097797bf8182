package jobstatus

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// PodsHeld returns how many pods the Job still holds resources with, as far as
// its status tells: those that are active and those that are terminating. A
// queue that lends quota to the Job may take back all but these.
func PodsHeld(job *batchv1.Job) int32 {
	if job == nil {
		return 0
	}
	held := int64(max(job.Status.Active, 0))
	if t := job.Status.Terminating; t != nil {
		held += int64(max(*t, 0))
	}
	return int32(min(held, math.MaxInt32))
}

// IndexesFinished returns how many indexes of an Indexed Job are completed or
// failed, each counted once and none beyond completions. For other Jobs it is
// the number of succeeded pods, up to completions.
func IndexesFinished(job *batchv1.Job) int {
	if isIndexed(job) {
		return Indexes(job).Finished.Len()
	}
	if job == nil {
		return 0
	}
	succeeded := max(job.Status.Succeeded, 0)
	if job.Spec.Completions != nil {
		succeeded = min(succeeded, max(*job.Spec.Completions, 0))
	}
	return int(succeeded)
}

func isIndexed(job *batchv1.Job) bool {
	return job != nil && job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// IndexSets are the indexes of an Indexed Job, by what the status tells of
// them.
type IndexSets struct {
	Completed indexset.Set
	Failed    indexset.Set
	// Finished are those that are either.
	Finished indexset.Set
	// Unfinished are the others: those to retry when the Job is run anew.
	Unfinished indexset.Set
}

// Indexes reads the indexes of an Indexed Job's status, the way the Job
// controller reads them. Other Jobs have none.
func Indexes(job *batchv1.Job) IndexSets {
	if !isIndexed(job) || job.Spec.Completions == nil {
		return IndexSets{}
	}
	completions := *job.Spec.Completions
	var sets IndexSets
	sets.Completed, _ = indexset.ParseDamaged(job.Status.CompletedIndexes, completions)
	if job.Status.FailedIndexes != nil {
		failed, _ := indexset.ParseDamaged(*job.Status.FailedIndexes, completions)
		sets.Failed = failed.Difference(sets.Completed)
	}
	sets.Finished = sets.Completed.Union(sets.Failed)
	sets.Unfinished = sets.Finished.Complement(completions)
	return sets
}
