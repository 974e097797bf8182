package tracking

import "time"

// Throttle reduces the number of status writes. KEP-2307 § Algorithm allows skipping the
// counting "in the scenario where a status update happened too recently and the number of
// uncounted Pods is a small percentage of parallelism". The zero Throttle never skips.
type Throttle struct {
	// Every is the least time between two status writes that count few pods.
	Every time.Duration
	// Share is the fraction of parallelism up to which newly recorded pods count as few.
	Share float64
}
