package lifecycle

import "math"

// Sum returns the sum, at most the largest int32.
func Sum(terms ...int32) int32 {
	var sum int64
	for _, t := range terms {
		sum += int64(t)
	}
	return int32(min(sum, math.MaxInt32))
}
