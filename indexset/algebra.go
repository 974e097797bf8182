package indexset

import (
	"iter"
	"slices"
)

// common yields the intervals of the indexes that are in both s and o. They are canonical:
// if two were adjacent, they would be one interval in s and in o.
func (s Set) common(o Set) iter.Seq[Interval] {
	return func(yield func(Interval) bool) {
		a, b := s.ivs, o.ivs
		for i, j := 0, 0; i < len(a) && j < len(b); {
			both := Interval{max(a[i].First, b[j].First), min(a[i].Last, b[j].Last)}
			if both.First <= both.Last && !yield(both) {
				return
			}
			if a[i].Last < b[j].Last {
				i = seek(a, i+1, b[j].First)
			} else {
				j = seek(b, j+1, a[i].First)
			}
		}
	}
}

// overlap returns the numbers of intervals and of indexes that are in both s and o.
func (s Set) overlap(o Set) (intervals int, indexes int64) {
	for iv := range s.common(o) {
		intervals++
		indexes += iv.len()
	}
	return intervals, indexes
}

// IntersectionLen returns the number of indexes that are in both s and o.
func (s Set) IntersectionLen(o Set) int {
	_, n := s.overlap(o)
	return int(n)
}

// Intersection returns the indexes that are in both s and o.
func (s Set) Intersection(o Set) Set {
	intervals, n := s.overlap(o)
	switch n {
	case s.n:
		return s
	case o.n:
		return o
	}
	return newSet(slices.AppendSeq(make([]Interval, 0, intervals), s.common(o)), n)
}

// Union returns the indexes that are in s, in o or in both.
func (s Set) Union(o Set) Set {
	few, many := s, o
	if len(s.ivs) > len(o.ivs) {
		few, many = o, s
	}
	_, common := few.overlap(many)
	switch common {
	case few.n:
		return many
	case many.n:
		return few
	}
	// A run of intervals of many that few does not touch is copied as a whole, so that
	// adding a few intervals to many is fast.
	b, rest := Builder{ivs: make([]Interval, 0, len(few.ivs)+len(many.ivs))}, many.ivs
	for _, iv := range few.ivs {
		apart := seek(rest, 0, iv.First-1) // these end before iv and do not touch it
		b.ivs, rest = append(b.ivs, rest[:apart]...), rest[apart:]
		for len(rest) > 0 && rest[0].First <= iv.Last+1 {
			iv = Interval{min(iv.First, rest[0].First), max(iv.Last, rest[0].Last)}
			rest = rest[1:]
		}
		b.AddRange(iv.First, iv.Last)
	}
	return newSet(append(b.ivs, rest...), s.n+o.n-common)
}

// Difference returns the indexes of s that are not in o.
func (s Set) Difference(o Set) Set {
	intervals, n := s.overlap(o)
	if n == 0 {
		return s
	}
	b, left := Builder{ivs: make([]Interval, 0, len(s.ivs)+intervals)}, s.ivs
	next := left[0].First // the first index of left that has not been added
	for gone := range s.common(o) {
		for ; left[0].Last < gone.First; next = left[0].First {
			b.AddRange(next, left[0].Last)
			left = left[1:]
		}
		b.AddRange(next, gone.First-1)
		next = gone.Last + 1
	}
	b.AddRange(next, left[0].Last)
	return newSet(append(b.ivs, left[1:]...), s.n-n)
}

// Clip returns the indexes of s that are in [0, n).
func (s Set) Clip(n int32) Set {
	if s.isBelow(n) {
		return s
	}
	return s.Intersection(Range(0, max(n, 0)-1))
}

// isBelow reports whether all of s is in [0, n).
func (s Set) isBelow(n int32) bool {
	last, ok := s.Max()
	return !ok || last < n
}

// Complement returns the indexes of [0, n) that are not in s.
func (s Set) Complement(n int32) Set { return Range(0, max(n, 0)-1).Difference(s) }
