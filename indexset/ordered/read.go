// Package ordered reads lists of completion indexes as the API server does when it validates a Job
// (validateIndexesFormat, Kubernetes 1.37).
package ordered

import (
	"fmt"
	"strconv"
	"strings"
)

// Interval is a run of indexes, both ends included.
type Interval struct{ First, Last int32 }

// Fault says what is wrong with a list, and where.
type Fault struct {
	Fragment string // the text between the commas around the fault
	Offset   int    // the offset of the fragment in the list, in bytes
	Reason   string // the message of the API server
}

// Read returns the interval of each fragment in a list of a Job with the given completions. They increase, and
// may be adjacent.
func Read(list string, completions int32) (intervals []Interval, fault *Fault) {
	if list == "" {
		return nil, nil
	}
	intervals = make([]Interval, 0, 1+strings.Count(list, ","))
	previous, offset := int64(-1), 0
	for fragment := range strings.SplitSeq(list, ",") {
		first, last, reason := bounds(fragment, previous, int64(completions))
		if reason != "" {
			return nil, &Fault{fragment, offset, reason}
		}
		intervals = append(intervals, Interval{int32(first), int32(last)})
		previous, offset = last, offset+len(fragment)+1
	}
	return intervals, nil
}

// bounds returns the first and the last index of a fragment, or why the API server rejects it. It checks in the
// order of the API server, which decides which of several faults is reported.
func bounds(fragment string, previous, completions int64) (first, last int64, reason string) {
	left, right, two := strings.Cut(fragment, "-")
	if strings.Contains(right, "-") {
		return 0, 0, fmt.Sprintf("the fragment %q violates the requirement that an index interval can have at "+
			"most two parts separated by '-'", fragment)
	}
	first, reason = number(left, completions)
	last = first
	if two && reason == "" {
		last, reason = number(right, completions)
	}
	switch {
	case reason != "":
	case two && first >= last: // the order within the fragment comes first
		reason = notIncreasing(first, last)
	case previous >= first:
		reason = notIncreasing(previous, first)
	}
	return first, last, reason
}

// number returns the number of an index, which may have signs and leading zeros. No index is negative, because a
// hyphen always separates two parts.
func number(text string, completions int64) (n int64, reason string) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		reason = fmt.Sprintf("cannot convert string to integer for index: %q", text)
	case n >= completions:
		reason = fmt.Sprintf("too large index: %q", text)
	}
	return n, reason
}

func notIncreasing(previous, current int64) string {
	return fmt.Sprintf("non-increasing order, previous: %d, current: %d", previous, current)
}
