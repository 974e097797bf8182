package indexset

import "iter"

// Clip returns the indexes of s that are in [0, n).
func (s Set) Clip(n int32) Set {
	at := search(s.ivs, max(n, 0)) // the first interval that reaches n
	switch {
	case at == len(s.ivs):
		return s
	case n <= s.ivs[at].First:
		if at == 0 {
			return Set{}
		}
		return Set{s.ivs[:at], count(s.ivs[:at])} // shares the intervals, which never change
	}
	ivs := make([]Interval, at+1)
	copy(ivs, s.ivs)
	ivs[at].Last = n - 1
	return Set{ivs, count(ivs)}
}

// Complement returns the indexes of [0, n) that are not in s.
func (s Set) Complement(n int32) Set {
	return Range(0, max(n, 0)-1).Difference(s)
}

// Missing yields the indexes of [0, n) that are not in s, in increasing order.
func (s Set) Missing(n int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		next := int32(0)
		for _, iv := range s.ivs {
			end := min(iv.First, n)
			for ; next < end; next++ {
				if !yield(next) {
					return
				}
			}
			if end == n {
				return
			}
			next = iv.Last + 1
		}
		for ; next < n; next++ {
			if !yield(next) {
				return
			}
		}
	}
}
