package validation

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
)

// Size bounds the size of the lists of indexes in a status, in bytes.
type Size struct {
	Completed int64 // maximum size of completedIndexes
	Failed    int64 // maximum size of failedIndexes
	Both      int64 // maximum size of both together; less than the sum if completions is low
	Overrun   int64 // what failedIndexes may take beyond that if many indexes fail at once
}

// IndexesSize returns the largest size of completedIndexes and failedIndexes in the status
// of a Job with this spec. It is zero unless the Job is Indexed.
//
// It computes the size as KEP-3850 does (Risks, "The Job object too big"). A list is
// longest when it consists of pairs, "1,2,4,5,7,8", so each gap costs two numbers. The
// number of gaps in completedIndexes is the number of indexes that run or have failed, at
// most parallelism plus maxFailedIndexes. A number takes the digits of the last index and
// a separator.
//
// The KEP assumes that failedIndexes holds at most maxFailedIndexes. But the controller
// checks the limit after counting. If all running pods fail in the sync that passes the
// limit, failedIndexes holds up to parallelism more; this is the overrun.
//
// The bound assumes that parallelism was never higher, that completions were never
// different, and that new pods go to the lowest indexes.
func IndexesSize(spec *batchv1.JobSpec) Size {
	if spec == nil || !indexed(spec) || deref(spec.Completions, 0) <= 0 {
		return Size{}
	}
	completions := int64(*spec.Completions)
	running := max(0, int64(deref(spec.Parallelism, 1)))
	var failed int64
	if spec.BackoffLimitPerIndex != nil {
		failed = max(0, int64(deref(spec.MaxFailedIndexes, *spec.Completions)))
	}

	// The maximum number of numbers in each list.
	inCompleted := listed(completions, running+failed)
	inFailed := min(failed, listed(completions, completions))
	inBoth := min(completions, inCompleted+inFailed) // each index is in one of them
	var over int64
	if spec.BackoffLimitPerIndex != nil {
		over = min(completions, inBoth+running) - inBoth
	}

	number := int64(len(strconv.FormatInt(completions-1, 10)) + len(","))
	return Size{
		Completed: inCompleted * number,
		Failed:    inFailed * number,
		Both:      inBoth * number,
		Overrun:   over * number,
	}
}

// listed returns the maximum number of numbers in a list of indexes below completions, if at
// most the given number of indexes is missing. Each gap separates two intervals of at most
// two numbers. Once every third index is missing, more gaps make the list shorter.
func listed(completions, missing int64) int64 {
	return min(2*(missing+1), (2*completions+2)/3)
}
