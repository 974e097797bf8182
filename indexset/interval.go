package indexset

import "math"

// Max is the greatest completion index: one less than the largest int32, because
// completions are an int32.
const Max int32 = math.MaxInt32 - 1

// Interval is a run of consecutive indexes, both ends included. The intervals of a Set are
// within [0, Max] and never empty.
type Interval struct{ First, Last int32 }

// len returns the number of indexes in iv; 0 if Last is before First.
func (iv Interval) len() int64 {
	return max(int64(iv.Last)-int64(iv.First)+1, 0)
}

// search returns the position of the first interval that ends at x or after it; len(ivs) if
// there is none. x must be in [-1, math.MaxInt32].
//
// The comparison selects the step by a mask and not by a branch, because the processor
// cannot predict its result. This takes 0.3 times as long as slices.BinarySearchFunc
// (BenchmarkSearch).
func search(ivs []Interval, x int32) int {
	at, n := 0, len(ivs)
	for n > 1 {
		half := n / 2
		before := int(ivs[at+half-1].Last-x) >> 31 // all ones if that interval ends before x
		at += half & before
		n -= half
	}
	if n == 1 && ivs[at].Last < x {
		at++
	}
	return at
}

// guess tries to find the result of search by interpolation. It first computes where x would
// be if the intervals were spread evenly, and then interpolates once more from there. Over
// short distances intervals nearly always are spread evenly, and guess then takes 0.35 times
// as long as search. If ok is false, the caller must call search, and both together take at
// most 1.4 times as long as search alone (BenchmarkSearch).
func guess(ivs []Interval, x int32) (position int, ok bool) {
	const many, off = 64, 16
	if len(ivs) < many {
		return 0, false
	}
	end := len(ivs) - 1
	low, high := ivs[0].Last, ivs[end].Last
	density := float64(end) / float64(high-low)
	first := min(max(int(float64(x-low)*density), 0), end)
	second := first + int(float64(x-ivs[first].Last)*density)
	from := min(max(second-off, 0), len(ivs)-2*off)
	window := ivs[from : from+2*off]
	if x < window[0].Last || window[2*off-1].Last < x {
		return 0, false
	}
	at := 0
	for half := off; half > 0; half /= 2 { // as in search, with a fixed length
		at += half & (int(window[at+half-1].Last-x) >> 31)
	}
	return from + at, true
}

// seek is search from a position on, for walks that only go forward. It takes a few steps if
// the result is near, and at most twice as many as search.
func seek(ivs []Interval, from int, x int32) int {
	if from == len(ivs) || ivs[from].Last >= x { // as nearly always
		return from
	}
	first, end := stretch(ivs, from+1, x)
	return first + search(ivs[first:end], x)
}

// stretch returns the part of ivs[from:] that seek has to search. It doubles its stride
// until it has reached x.
func stretch(ivs []Interval, from int, x int32) (first, end int) {
	at := from
	for stride := 1; at < len(ivs) && ivs[at].Last < x; stride *= 2 {
		from, at = at+1, at+stride
	}
	return from, min(at, len(ivs))
}
