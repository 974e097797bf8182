package lifecycle

import (
	"math"
	"time"
)

// Deadline returns how long a Job that started at the given time may remain
// active: zero or less once the deadline is past. Neither a deadline too far away
// for a time.Duration nor a start in the future makes it wrap around. A negative
// deadline is one of zero.
func Deadline(seconds int64, start, now time.Time) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	allowed := time.Duration(min(max(seconds, 0), most)) * time.Second
	active := now.Sub(start) // saturates
	if active < 0 && allowed > math.MaxInt64+active {
		return math.MaxInt64
	}
	return allowed - active
}
