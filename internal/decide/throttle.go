package decide

import (
	"time"

	"github.com/jobfate/jobfate/tracking"
)

// throttled returns how long to delay a status write that records the given number of
// pods; 0 means no delay. A last write in the future causes no delay.
func throttled(t tracking.Throttle, last, now time.Time, recorded int, parallelism int32) time.Duration {
	if t.Every <= 0 || last.IsZero() || last.After(now) {
		return 0
	}
	if float64(recorded) > t.Share*float64(parallelism) {
		return 0
	}
	return max(0, t.Every-now.Sub(last))
}
