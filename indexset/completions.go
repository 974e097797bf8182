package indexset

import (
	"iter"
	"slices"
)

// Clip returns the indexes of s that are in [0, n).
func (s Set) Clip(n int32) Set {
	at := search(s.ivs, max(n, 0)) // the first interval that reaches n
	switch {
	case at == len(s.ivs):
		return s
	case n <= s.ivs[at].First:
		return newSet(s.ivs[:at:at]) // shares the intervals, which never change
	}
	ivs := slices.Clone(s.ivs[:at+1])
	ivs[at].Last = n - 1
	return newSet(ivs)
}

// Complement returns the indexes of [0, n) that are not in s.
func (s Set) Complement(n int32) Set {
	return Range(0, max(n, 0)-1).Difference(s)
}

// Missing yields the indexes of [0, n) that are not in s, in increasing order.
func (s Set) Missing(n int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for at, next := 0, int32(0); next < n; at++ {
			iv := Interval{n, n - 1} // after the last one
			if at < len(s.ivs) {
				iv = s.ivs[at]
			}
			for end := min(iv.First, n); next < end; next++ {
				if !yield(next) {
					return
				}
			}
			next = iv.Last + 1
		}
	}
}
