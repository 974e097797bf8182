package validation

import (
	"strings"

	"github.com/jobfate/jobfate/indexset"
)

// countIndexes returns how many indexes a list holds, or why it is refused.
func countIndexes(list string, completions int32) (int, error) {
	set, err := indexset.ParseOrdered(list, completions)
	return set.Len(), err
}

// overlap returns an index at which two lists overlap, if they do.
//
// For two lists in order it is the least index that both hold. Other lists are
// refused by the check of their format, but only when they have just changed:
// for them the answer is the API server's, which passes over entries that it
// cannot read and walks both lists once, side by side.
func overlap(a, b string, completions int32) (index int32, found bool) {
	x, errX := indexset.ParseOrdered(a, completions)
	y, errY := indexset.ParseOrdered(b, completions)
	if errX == nil && errY == nil {
		return x.Intersection(y).Min()
	}
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
		// A list of one entry is out of order only within that entry. One that
		// cannot be read is empty.
		set, _ := indexset.ParseOrdered(entry, completions)
		for interval := range set.Intervals() {
			intervals = append(intervals, interval)
		}
	}
	return intervals
}
