package indexset

// Nth returns the index at a position in increasing order, and whether there is one. The position of
// the least index is 0. Its time depends on the number of intervals.
func (s Set) Nth(position int) (int32, bool) {
	left := int64(position)
	if left < 0 || left >= s.n {
		return 0, false
	}
	at := 0
	for ; left >= s.ivs[at].len(); at++ {
		left -= s.ivs[at].len()
	}
	return s.ivs[at].First + int32(left), true
}

// FirstN returns the n least indexes of s; all of s if it has fewer.
func (s Set) FirstN(n int) Set {
	if int64(n) >= s.n {
		return s
	}
	last, ok := s.Nth(n - 1)
	if !ok {
		return Set{}
	}
	return s.Intersection(Range(0, last))
}
