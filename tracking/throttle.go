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
