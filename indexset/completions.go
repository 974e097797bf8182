package indexset

import "iter"

// Clip returns the indexes of s that are in [0, n).
func (s Set) Clip(n int32) Set {
	at := search(s.ivs, max(n, 0)) // the first that reaches n
	switch {
	case at == len(s.ivs):
		return s
	case n <= s.ivs[at].First:
		if at == 0 {
			return Set{}
		}
		return Set{s.ivs[:at]} // shared: neither of the two ever changes
	}
	ivs := make([]Interval, at+1)
	copy(ivs, s.ivs)
	ivs[at].Last = n - 1
	return Set{ivs}
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

// firstMissingRoom is what FirstMissing allocates for at once: the Job
// controller asks for at most 500 pods at a time. More is grown into, for
// there may be far fewer indexes missing than were asked for.
const firstMissingRoom = 512

// FirstMissing returns the least indexes of [0, n) that are not in s, at most
// count of them. It is nil when there are none.
func (s Set) FirstMissing(count int, n int32) []int32 {
	if count <= 0 {
		return nil
	}
	var missing []int32
	for i := range s.Missing(n) {
		if missing == nil {
			missing = make([]int32, 0, min(count, int(n-i), firstMissingRoom))
		}
		missing = append(missing, i)
		if len(missing) == count {
			break
		}
	}
	return missing
}
