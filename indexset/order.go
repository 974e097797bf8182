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
	next, more := s.Nth(max(n, 0))
	if !more {
		return s
	}
	return s.Clip(next)
}
