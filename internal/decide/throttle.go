package decide

import (
	"time"

	"github.com/jobfate/jobfate/tracking"
)

// throttled returns how long to put a status write off that records the given number
// of pods, when the last one was at the given time; 0 means not at all. A last write
// that lies in the future does not put anything off.
func throttled(t tracking.Throttle, last, now time.Time, recorded int, parallelism int32) time.Duration {
	if t.Every <= 0 || last.IsZero() || last.After(now) {
		return 0
	}
	if float64(recorded) > t.Share*float64(parallelism) {
		return 0
	}
	return max(0, t.Every-now.Sub(last))
}
