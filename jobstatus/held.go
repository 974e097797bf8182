package jobstatus

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// PodsHeld returns how many pods the Job still holds resources with, as far as
// its status tells: those that are active and those that are terminating. A
// queue that lends quota to the Job may take back all but these.
func PodsHeld(job *batchv1.Job) int32 {
	held := max(job.Status.Active, 0)
	if t := job.Status.Terminating; t != nil && *t > 0 {
		held = min(held, 1<<31-1-*t) + *t
	}
	return held
}

// IndexesFinished returns how many indexes of an Indexed Job are completed or
// failed, each counted once and none beyond completions. For other Jobs it is
// the number of succeeded pods, up to completions.
func IndexesFinished(job *batchv1.Job) int {
	limit := int32(1<<31 - 1)
	if job.Spec.Completions != nil {
		limit = max(*job.Spec.Completions, 0)
	}
	if mode := job.Spec.CompletionMode; mode == nil || *mode != batchv1.IndexedCompletion {
		return int(min(max(job.Status.Succeeded, 0), limit))
	}
	return Indexes(job).Finished.Len()
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
	mode, completions := job.Spec.CompletionMode, job.Spec.Completions
	if mode == nil || *mode != batchv1.IndexedCompletion || completions == nil {
		return IndexSets{}
	}
	var sets IndexSets
	sets.Completed, _ = indexset.ParseDamaged(job.Status.CompletedIndexes, *completions)
	if job.Status.FailedIndexes != nil {
		sets.Failed, _ = indexset.ParseDamaged(*job.Status.FailedIndexes, *completions)
		sets.Failed = sets.Failed.Difference(sets.Completed)
	}
	sets.Finished = sets.Completed.Union(sets.Failed)
	sets.Unfinished = sets.Finished.Complement(*completions)
	return sets
}
