package classify

import (
	"cmp"
	"math"
	"strconv"

	"github.com/jobfate/jobfate/tracking"
)

// Counts holds the numbers of failures of an index before a pod, as the pod's annotations say.
// Both are zero for the first pod of an index (KEP-3850, Tracking the number of failures
// per index).
type Counts struct {
	// Failures counts towards backoffLimitPerIndex.
	Failures int32
	// Ignored is the number of failures that matched an Ignore rule.
	Ignored int32
}

// CountsOf reads the two annotations. No name in the keys is empty. A value that is missing, negative, above MaxInt32
// or not a number is read as zero.
func CountsOf(keys *tracking.Keys, annotations map[string]string) Counts {
	return Counts{parseCount(annotations[keys.FailureCount]), parseCount(annotations[keys.IgnoredFailureCount])}
}

func parseCount(text string) int32 {
	if text == "" {
		return 0 // without allocating an error
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(max(n, 0))
}

// Total returns the number of all failures, ignored ones included. Once the pod with these
// Counts has failed too, the delay of its index is the delay of Total()+1 failures. Total
// saturates where Kubernetes 1.37 wraps around.
func (c Counts) Total() int32 {
	return Sum(c.Failures, c.Ignored)
}

// Compare compares the numbers of all failures. Unlike Total it does not saturate.
func (c Counts) Compare(o Counts) int {
	return cmp.Compare(int64(c.Failures)+int64(c.Ignored), int64(o.Failures)+int64(o.Ignored))
}

// Next returns the counts of the pod that replaces a failed pod with counts c. counted is
// false if the failure matched an Ignore rule. The counts saturate, so they never fall.
func (c Counts) Next(counted bool) Counts {
	if counted {
		c.Failures = Sum(c.Failures, 1)
	} else {
		c.Ignored = Sum(c.Ignored, 1)
	}
	return c
}

// Annotations returns the annotations of a new pod with these counts. Like the Job controller, it
// leaves out that of ignored failures if there are none, so that the value of the template stays.
func (c Counts) Annotations(keys *tracking.Keys) map[string]string {
	all := map[string]string{keys.FailureCount: strconv.Itoa(int(c.Failures))}
	if c.Ignored > 0 {
		all[keys.IgnoredFailureCount] = strconv.Itoa(int(c.Ignored))
	}
	return all
}

// Sum returns the sum, at most the largest int32.
func Sum(terms ...int32) int32 {
	var sum int64
	for _, t := range terms {
		sum += int64(t)
	}
	return int32(min(sum, math.MaxInt32))
}
