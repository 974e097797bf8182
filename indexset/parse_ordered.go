package indexset

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseOrdered returns the set that the API server reads from s, a field of a Job with the
// given completions. It accepts exactly what the validation of Jobs accepts
// (validateIndexesFormat, Kubernetes 1.36): increasing indexes below completions, and
// intervals of at least two indexes. This includes text that is not canonical:
//
//   - consecutive indexes with another grouping, as in "3-4", "1,2,3", "1-3,4";
//   - leading plus signs and zeros, as in "+5" and "007".
//
// Each accepted text is a set within [0, completions): a hyphen always separates two
// parts, so no index is negative and counts cannot overflow.
//
// The text of the error is the message of the API server, word for word. The error wraps a
// *SyntaxError that adds the position.
func ParseOrdered(s string, completions int32) (Set, error) {
	if set, fault := parse(s); fault == nil && set.isBelow(completions) {
		return set, nil // nearly all texts are canonical, and parse is much faster
	}
	var b Builder
	previous, offset := int64(-1), 0
	for fragment := range strings.SplitSeq(s, ",") {
		iv, reason := orderedInterval(fragment, int64(completions))
		if reason == "" && iv.first <= previous {
			reason = notIncreasing(previous, iv.first)
		}
		if reason != "" {
			return Set{}, serverError{&SyntaxError{Fragment: fragment, Offset: offset, Reason: reason}}
		}
		b.AddRange(int32(iv.first), int32(iv.last))
		previous, offset = iv.last, offset+len(fragment)+1
	}
	return b.take(), nil
}

// isBelow reports whether all of s is in [0, n).
func (s Set) isBelow(n int32) bool {
	last, ok := s.Max()
	return !ok || last < n
}

// limits are the first and last number of a fragment. Unlike an Interval they may have any
// value that the API server and the controller accept, that is any of 64 bits.
type limits struct{ first, last int64 }

// orderedInterval parses a fragment. It checks in the order of the API server, which decides
// which of several faults is reported.
func orderedInterval(fragment string, completions int64) (iv limits, reason string) {
	parts := strings.SplitN(fragment, "-", 3)
	if len(parts) > 2 {
		return iv, fmt.Sprintf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", fragment)
	}
	values := [2]int64{}
	for i, part := range parts {
		value, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return iv, fmt.Sprintf("cannot convert string to integer for index: %q", part)
		}
		if value >= completions {
			return iv, fmt.Sprintf("too large index: %q", part)
		}
		values[i] = value
	}
	iv = limits{values[0], values[len(parts)-1]}
	if len(parts) == 2 && iv.first >= iv.last {
		return iv, notIncreasing(iv.first, iv.last)
	}
	return iv, ""
}

func notIncreasing(previous, current int64) string {
	return fmt.Sprintf("non-increasing order, previous: %d, current: %d", previous, current)
}

// serverError has the message of the API server, without the position.
type serverError struct{ *SyntaxError }

func (e serverError) Error() string { return e.Reason }
func (e serverError) Unwrap() error { return e.SyntaxError }
