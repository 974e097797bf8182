package indexset

import "math/bits"

// appendRuns appends the runs of ones in words, counted from base. A run that extends over
// several words becomes one interval.
func appendRuns(ivs []Interval, base int32, words []uint64) []Interval {
	for w, word := range words {
		start := base + int32(64*w)
		for at := 0; word != 0; {
			gap := bits.TrailingZeros64(word)
			word >>= gap
			run := bits.TrailingZeros64(^word)
			word >>= run
			at += gap + run
			first, last := start+int32(at-run), start+int32(at-1)
			if n := len(ivs); n > 0 && ivs[n-1].Last+1 == first {
				ivs[n-1].Last = last
				continue
			}
			ivs = append(ivs, Interval{first, last})
		}
	}
	return ivs
}
