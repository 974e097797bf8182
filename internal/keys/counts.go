package keys

import (
	"cmp"
	"math"
	"strconv"
)

// Counts are the failures of an index before a pod, as the pod's annotations
// hold them: both are zero for the first pod of an index (KEP-3850, Tracking the
// number of failures per index).
type Counts struct {
	// Failures counts towards backoffLimitPerIndex.
	Failures int32
	// Ignored are the failures that an Ignore rule took out of the count.
	Ignored int32
}

// CountsOf reads the two annotations. One that is missing, negative, above
// MaxInt32 or not a number reads as zero.
func (k Keys) CountsOf(annotations map[string]string) Counts {
	return Counts{
		Failures: parseCount(annotations, k.failureCount()),
		Ignored:  parseCount(annotations, k.ignoredFailureCount()),
	}
}

func parseCount(annotations map[string]string, key string) int32 {
	value, ok := annotations[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0
	}
	return int32(max(n, 0))
}

// Total returns all failures, those that were ignored included. The delay of an
// index depends on it: it is that of Total()+1 failures once the pod with these
// Counts has failed too. It saturates where Kubernetes 1.36.3 wraps around.
func (c Counts) Total() int32 {
	return saturate(int64(c.Failures) + int64(c.Ignored))
}

// Compare tells fewer failures from more: by Total, but where that is too large.
func (c Counts) Compare(o Counts) int {
	return cmp.Compare(int64(c.Failures)+int64(c.Ignored), int64(o.Failures)+int64(o.Ignored))
}

// Next returns the counts of the pod that replaces a failed pod with counts c.
// counted is false when the failure matched an Ignore rule. The counts saturate,
// so a replacement's count never falls.
func (c Counts) Next(counted bool) Counts {
	if counted {
		c.Failures = saturate(int64(c.Failures) + 1)
	} else {
		c.Ignored = saturate(int64(c.Ignored) + 1)
	}
	return c
}

// PutCounts writes the counts into the annotations of a new pod. The count of
// ignored failures is written only above zero; what stood there before stays
// otherwise, as in the Job controller. A nil map is left alone.
func (k Keys) PutCounts(annotations map[string]string, c Counts) {
	if annotations == nil {
		return
	}
	annotations[k.failureCount()] = formatCount(c.Failures)
	if c.Ignored > 0 {
		annotations[k.ignoredFailureCount()] = formatCount(c.Ignored)
	}
}

func formatCount(n int32) string { return strconv.Itoa(int(n)) }

// saturate returns the nearest count to n.
func saturate(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
