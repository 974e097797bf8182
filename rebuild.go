package jobfate

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// RebuildBackoff makes the backoff record anew from the pods of a snapshot, for
// a caller that has lost it. It reads the pods that have been counted and are
// still there; those that are still to be counted are left to Decide. The
// record is right as long as the pods that failed since the last success, and
// that last success, have not been deleted.
func RebuildBackoff(s Snapshot, opts ...Option) (backoff.Record, error) {
	s.Backoff = backoff.Record{}
	v, err := new(Scratch).read(s, opts)
	if err != nil {
		return backoff.Record{}, err
	}
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
	return backoff.Rebuild(s.Job.UID, succeeded, failed), nil
}
