package indexset

import "github.com/jobfate/jobfate/indexset/ordered"

// ParseOrdered returns the set that the API server reads from s, a field of a Job with the
// given completions. It accepts exactly what the validation of Jobs accepts
// (validateIndexesFormat, Kubernetes 1.37): increasing indexes below completions, and
// intervals of at least two indexes. This includes text that is not canonical:
//
//   - consecutive indexes with another grouping, as in "3-4", "1,2,3", "1-3,4";
//   - leading plus signs and zeros, as in "+5" and "007".
//
// Each accepted text is a set within [0, completions): a hyphen always separates two
// parts, so no index is negative and counts cannot overflow.
//
// The error is a *SyntaxError. Its Reason is the message of the API server, word for word.
func ParseOrdered(s string, completions int32) (Set, error) {
	if set, fault := parse(s); fault == nil && set.isBelow(completions) {
		return set, nil // nearly all texts are canonical, and parse is much faster
	}
	intervals, fault := ordered.Read(s, completions)
	if fault != nil {
		return Set{}, (*SyntaxError)(fault)
	}
	var b Builder
	for _, iv := range intervals {
		b.AddRange(iv.First, iv.Last)
	}
	return b.Set(), nil
}
