package tracking

import "time"

// Throttle spares status writes. KEP-2307 § Algorithm allows to skip the
// counting "in the scenario where a status update happened too recently and the
// number of uncounted Pods is a small percentage of parallelism". The zero
// Throttle never skips.
type Throttle struct {
	// Every is the time within which a second status write comes too soon.
	Every time.Duration
	// Share is the part of parallelism up to which newly recorded pods are few.
	Share float64
}

// Wait returns how long to put a status write off that records the given number
// of pods, when the last one was at the given time; 0 means not at all. A last
// write that lies in the future does not hold anything up.
func (t Throttle) Wait(last, now time.Time, recorded int, parallelism int32) time.Duration {
	if t.Every <= 0 || last.IsZero() || last.After(now) {
		return 0
	}
	if float64(recorded) > t.Share*float64(parallelism) {
		return 0
	}
	return max(0, t.Every-now.Sub(last))
}
