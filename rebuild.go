package jobfate

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// rebuilt is the backoff record made anew from the pods that have been counted,
// unless the one that is remembered knows of a later failure. Pods that are still
// to be counted are news, and not of the record.
func (v *view) rebuilt() backoff.Record {
	var succeeded, failed []time.Time
	for i := range v.census.Records {
		r := &v.census.Records[i]
		counted := !r.Is(tracking.Tracked) || r.Is(tracking.Parked)
		switch {
		case !counted || !r.Is(tracking.Valid):
		case r.Is(tracking.Succeeded):
			succeeded = append(succeeded, backoff.FinishTime(r.Pod))
		case r.Is(tracking.Failed):
			failed = append(failed, backoff.FinishTime(r.Pod))
		}
	}
	record := backoff.Rebuild(v.job.UID, succeeded, failed)
	if record.LastFailure.Before(v.memory.LastFailure) {
		return v.memory
	}
	return record
}
