package lifecycle

import (
	"math"
	"time"
)

// Deadline returns how long a Job that started at the given time may remain active. The
// result is zero or less once the deadline has passed. It saturates if it does not fit a
// time.Duration. Negative seconds count as 0.
func Deadline(seconds int64, start, now time.Time) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	allowed := time.Duration(min(max(seconds, 0), most)) * time.Second
	return start.Add(allowed).Sub(now)
}
