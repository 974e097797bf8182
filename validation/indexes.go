package validation

import (
	"strings"

	"github.com/jobfate/jobfate/indexset/ordered"
)

// countIndexes returns the number of indexes in a list, or why the list is invalid.
func countIndexes(list string, completions int32) (n int, reason string) {
	intervals, fault := ordered.Read(list, completions)
	if fault != nil {
		return 0, fault.Reason
	}
	for _, iv := range intervals {
		n += int(iv.Last-iv.First) + 1
	}
	return n, ""
}

// overlap returns an index at which two lists overlap, if they do: of ordered lists the lowest
// index in both. Other lists fail the format check, but only in the update that changes them. As
// the API server does, overlap skips entries that it cannot parse, and walks both lists once, side by
// side.
func overlap(a, b string, completions int32) (index int32, found bool) {
	as, bs := readableIntervals(a, completions), readableIntervals(b, completions)
	for len(as) > 0 && len(bs) > 0 {
		x, y := as[0], bs[0]
		switch {
		case x.Last < y.First:
			as = as[1:]
		case y.Last < x.First:
			bs = bs[1:]
		default:
			return max(x.First, y.First), true
		}
	}
	return 0, false
}

func readableIntervals(list string, completions int32) (all []ordered.Interval) {
	for entry := range strings.SplitSeq(list, ",") {
		// Read each entry as its own list, so that the order of entries does not
		// matter. An entry that cannot be read is empty.
		intervals, _ := ordered.Read(entry, completions)
		all = append(all, intervals...)
	}
	return all
}
