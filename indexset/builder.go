package indexset

import (
	"cmp"
	"math/bits"
	"slices"
)

// Builder collects indexes in any order and builds a Set. The zero Builder is empty and
// ready for use. Do not copy a Builder after its first use.
type Builder struct {
	ivs       []Interval // canonical unless unordered
	unordered bool       // some interval starts before the one before it
}

// Add adds an index. One outside [0, Max] is ignored.
func (b *Builder) Add(i int32) { b.AddRange(i, i) }

// AddRange adds the indexes from first to last, both included. Indexes outside [0, Max]
// are ignored. If last is before first, it adds none.
func (b *Builder) AddRange(first, last int32) {
	first, last = max(first, 0), min(last, Max)
	if first > last {
		return
	}
	if n := len(b.ivs); n > 0 {
		latest := &b.ivs[n-1]
		switch {
		case first < latest.First:
			b.unordered = true
		case first <= latest.Last+1:
			latest.Last = max(latest.Last, last)
			return
		}
	}
	b.ivs = append(b.ivs, Interval{first, last})
}

// Set returns the set of the indexes added so far. You can add more later; that does not
// change the returned set.
func (b *Builder) Set() Set {
	b.settle()
	return newSet(slices.Clone(b.ivs))
}

// take is Set without a copy, for a builder that is not used again.
func (b *Builder) take() Set {
	b.settle()
	return newSet(b.ivs)
}

// settle makes the intervals canonical, in place.
func (b *Builder) settle() {
	if !b.unordered {
		return
	}
	given := b.ivs
	b.ivs, b.unordered = b.ivs[:0], false
	bounds, total := measure(given)
	if bitmapPays(len(given), bounds, total) {
		b.addRuns(bounds.First, bitmap(given, bounds))
		return
	}
	slices.SortFunc(given, func(x, y Interval) int { return cmp.Compare(x.First, y.First) })
	for _, iv := range given { // AddRange overwrites only intervals that were read already
		b.AddRange(iv.First, iv.Last)
	}
}

// addRuns adds the ones in words, counted from base.
func (b *Builder) addRuns(base int32, words []uint64) {
	for w, word := range words {
		for at := base + int32(64*w); word != 0; {
			gap := bits.TrailingZeros64(word)
			run := bits.TrailingZeros64(^(word >> gap))
			word >>= gap + run
			at += int32(gap + run)
			b.AddRange(at-int32(run), at-1)
		}
	}
}

// bitmapPays reports whether a bitmap is the faster way to sort n intervals. It takes at
// most a tenth of the time, under two conditions. The bitmap must not be larger than half
// the list of intervals (32 bits for an entry of 64). The intervals must not be so long that
// setting their bits takes most of the time.
func bitmapPays(n int, bounds Interval, total int64) bool {
	return bounds.len() <= 32*int64(n) && total <= 64*int64(n)
}

// measure returns the bounds of ivs, which must not be empty, and the sum of their lengths.
func measure(ivs []Interval) (bounds Interval, total int64) {
	bounds = ivs[0]
	for _, iv := range ivs {
		bounds.First = min(bounds.First, iv.First)
		bounds.Last = max(bounds.Last, iv.Last)
		total += iv.len()
	}
	return bounds, total
}

// bitmap returns the indexes of ivs as bits, counted from bounds.First.
func bitmap(ivs []Interval, bounds Interval) []uint64 {
	words := make([]uint64, (bounds.len()+63)/64)
	for _, iv := range ivs {
		first, last := uint32(iv.First-bounds.First), uint32(iv.Last-bounds.First)
		from, to := first/64, last/64
		head, tail := ^uint64(0)<<(first%64), ^uint64(0)>>(63-last%64)
		if from == to {
			words[from] |= head & tail
			continue
		}
		words[from] |= head
		for w := from + 1; w < to; w++ {
			words[w] = ^uint64(0)
		}
		words[to] |= tail
	}
	return words
}
