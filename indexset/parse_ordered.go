package indexset

import (
	"fmt"
	"strconv"
	"strings"
)

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
// The text of the error is the message of the API server, word for word. The error wraps a
// *SyntaxError that adds the position.
func ParseOrdered(s string, completions int32) (Set, error) {
	if set, fault := parse(s); fault == nil && set.isBelow(completions) {
		return set, nil // nearly all texts are canonical, and parse is much faster
	}
	var b Builder
	previous, offset := int64(-1), 0
	for _, fragment := range strings.Split(s, ",") {
		numbers, reason := orderedFragment(fragment, previous, int64(completions))
		if reason != "" {
			return Set{}, serverError{&SyntaxError{Fragment: fragment, Offset: offset, Reason: reason}}
		}
		previous, offset = numbers[len(numbers)-1], offset+len(fragment)+1
		b.AddRange(int32(numbers[0]), int32(previous))
	}
	return b.Set(), nil
}

// orderedFragment returns the one or two numbers of a fragment. It checks in the order of the
// API server, which decides which of several faults is reported.
func orderedFragment(fragment string, previous, completions int64) (numbers []int64, reason string) {
	parts := strings.SplitN(fragment, "-", 3)
	if len(parts) > 2 {
		return nil, fmt.Sprintf("the fragment %q violates the requirement that an index interval can have at "+
			"most two parts separated by '-'", fragment)
	}
	numbers = []int64{previous}
	for _, part := range parts {
		number, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Sprintf("cannot convert string to integer for index: %q", part)
		}
		if number >= completions {
			return nil, fmt.Sprintf("too large index: %q", part)
		}
		numbers = append(numbers, number)
	}
	for i := len(parts); i > 0; i-- { // the order within the fragment comes first
		if numbers[i-1] >= numbers[i] {
			return nil, fmt.Sprintf("non-increasing order, previous: %d, current: %d", numbers[i-1], numbers[i])
		}
	}
	return numbers[1:], ""
}

// serverError has the message of the API server, without the position.
type serverError struct{ *SyntaxError }

func (e serverError) Error() string { return e.Reason }
func (e serverError) Unwrap() error { return e.SyntaxError }
