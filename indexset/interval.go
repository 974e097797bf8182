package indexset

import (
	"cmp"
	"math"
	"slices"
)

// Max is the greatest completion index: one less than the largest int32, because
// completions are an int32.
const Max int32 = math.MaxInt32 - 1

// Interval is a run of consecutive indexes, both ends included. The intervals of a Set are
// within [0, Max] and never empty.
type Interval struct{ First, Last int32 }

// len returns the number of indexes in iv.
func (iv Interval) len() int64 { return int64(iv.Last) - int64(iv.First) + 1 }

// search returns the position of the first interval that ends at x or after it; len(ivs) if
// there is none.
func search(ivs []Interval, x int32) int {
	at, _ := slices.BinarySearchFunc(ivs, x, func(iv Interval, x int32) int { return cmp.Compare(iv.Last, x) })
	return at
}

// seek is search from a position on, for walks that only go forward. It takes a few steps if
// the result is near: it doubles its stride until it has reached x.
func seek(ivs []Interval, from int, x int32) int {
	if from == len(ivs) || ivs[from].Last >= x { // as nearly always
		return from
	}
	end := from
	for stride := 1; end < len(ivs) && ivs[end].Last < x; stride *= 2 {
		from, end = end+1, end+stride
	}
	return from + search(ivs[from:min(end, len(ivs))], x)
}
