package validation

import (
	"slices"
	"strings"

	"github.com/jobfate/jobfate/indexset"
)

// countIndexes returns the number of indexes in a list, or why the list is invalid.
func countIndexes(list string, completions int32) (int, error) {
	set, err := indexset.ParseOrdered(list, completions)
	return set.Len(), err
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

func readableIntervals(list string, completions int32) []indexset.Interval {
	var intervals []indexset.Interval
	for entry := range strings.SplitSeq(list, ",") {
		// Parse each entry as its own list, so that the order of entries does not
		// matter. An entry that cannot be parsed is empty.
		set, _ := indexset.ParseOrdered(entry, completions)
		intervals = slices.AppendSeq(intervals, set.Intervals())
	}
	return intervals
}
