package indexset

import (
	"iter"
	"slices"
)

// Set is an immutable set of completion indexes. The zero Set is empty and ready for use.
// Sets are values: copy them freely, compare them with Equal.
//
// An operation that does not change the set returns its operand without allocating.
type Set struct {
	ivs []Interval // canonical: increasing, disjoint, not adjacent; nil when empty; never appended to
	n   int64      // the number of indexes
}

// newSet returns the Set of n indexes in canonical intervals that will not change. If less
// than half of the capacity is used, it copies the list, because sets outlive the slices they
// are built from.
func newSet(ivs []Interval, n int64) Set {
	switch {
	case len(ivs) == 0:
		return Set{}
	case len(ivs) < cap(ivs)/2:
		ivs = slices.Clone(ivs)
	}
	return Set{ivs, n}
}

// sum returns the number of indexes in disjoint intervals.
func sum(ivs []Interval) (n int64) {
	for _, iv := range ivs {
		n += iv.len()
	}
	return n
}

// Of returns the set of the given indexes, in any order. Duplicates count once. Indexes
// outside [0, Max] are ignored.
func Of(indexes ...int32) Set {
	b := Builder{ivs: make([]Interval, 0, len(indexes))}
	for _, i := range indexes {
		b.Add(i)
	}
	return b.Set()
}

// Range returns the set of the indexes from first to last, both included. Indexes outside
// [0, Max] are ignored. It is empty if last is before first.
func Range(first, last int32) Set {
	var b Builder
	b.AddRange(first, last)
	return b.Set()
}

// Len returns the number of indexes in s.
func (s Set) Len() int { return int(s.n) }

// IsEmpty reports whether s has no index.
func (s Set) IsEmpty() bool { return len(s.ivs) == 0 }

// Min returns the least index, and whether there is one.
func (s Set) Min() (int32, bool) {
	if s.IsEmpty() {
		return 0, false
	}
	return s.ivs[0].First, true
}

// Max returns the greatest index, and whether there is one.
func (s Set) Max() (int32, bool) {
	if s.IsEmpty() {
		return 0, false
	}
	return s.ivs[len(s.ivs)-1].Last, true
}

// Contains reports whether i is in s.
func (s Set) Contains(i int32) bool {
	at := search(s.ivs, i) // may be wrong for a negative i, but every interval begins after it
	return at < len(s.ivs) && s.ivs[at].First <= i
}

// Equal reports whether s and o have the same indexes.
func (s Set) Equal(o Set) bool {
	if len(s.ivs) == len(o.ivs) && len(s.ivs) > 0 && &s.ivs[0] == &o.ivs[0] {
		return true // the same list, which never changes
	}
	return slices.Equal(s.ivs, o.ivs)
}

// Intervals yields the intervals of s in increasing order.
func (s Set) Intervals() iter.Seq[Interval] { return slices.Values(s.ivs) }

// All yields the indexes of s in increasing order.
func (s Set) All() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, iv := range s.ivs {
			for i := iv.First; i <= iv.Last; i++ { // cannot overflow: Last is below math.MaxInt32
				if !yield(i) {
					return
				}
			}
		}
	}
}
