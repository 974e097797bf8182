package jobstatus

import (
	"math"
	"time"
)

// Deadline returns how long a Job that started at the given time may remain
// active: zero or less once the deadline is past. A deadline too far away for a
// time.Duration is as far as one goes.
func Deadline(seconds int64, start, now time.Time) time.Duration {
	const most = int64(math.MaxInt64 / time.Second)
	allowed := time.Duration(math.MaxInt64)
	if seconds <= most {
		allowed = time.Duration(seconds) * time.Second
	}
	active := now.Sub(start)
	if active < 0 && allowed > math.MaxInt64+active {
		return math.MaxInt64
	}
	return allowed - active
}
