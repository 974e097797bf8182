package backoff

import (
	"time"

	"github.com/jobfate/jobfate/indexset"
)

// Due says which indexes may get a pod.
type Due struct {
	// Now lists the indexes that may get a pod now.
	Now indexset.Set
	// Next is the time until the first of the others may; zero if there are no others.
	Next time.Duration
}

// Due returns which of the pending indexes may get a pod: those whose delay is over. Pending
// indexes are not done and have no pod. failures has the record of each index that has failed; the
// others have no delay. The Job controller considers only the lowest pending indexes, as many as it
// may create pods for.
func (p Policy) Due(pending indexset.Set, failures map[int32]Record, now time.Time) Due {
	var waiting indexset.Builder
	var next time.Duration
	for index, r := range failures {
		left := p.Remaining(r.Failures, r.LastFailure, now)
		if left <= 0 || !pending.Contains(index) {
			continue
		}
		waiting.Add(index)
		if next == 0 || left < next {
			next = left
		}
	}
	return Due{Now: pending.Difference(waiting.Set()), Next: next}
}
