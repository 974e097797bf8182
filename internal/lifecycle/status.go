package lifecycle

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// ReadIndexes returns the completed and the failed indexes of a status, read as the Job
// controller does. An index may be in both sets.
func ReadIndexes(status *batchv1.JobStatus, completions int32) (completed, failed indexset.Set) {
	completed, _ = indexset.ParseDamaged(status.CompletedIndexes, completions)
	if status.FailedIndexes != nil {
		failed, _ = indexset.ParseDamaged(*status.FailedIndexes, completions)
	}
	return completed, failed
}

// Sum returns the sum, at most the largest int32.
func Sum(terms ...int32) int32 {
	var sum int64
	for _, t := range terms {
		sum += int64(t)
	}
	return int32(min(sum, math.MaxInt32))
}
