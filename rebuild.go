package jobfate

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// rebuilt is the backoff record made anew from the pods that have been counted,
// unless the one that is remembered knows of a later failure, or of more. Pods that
// are still to be counted are news, and not of the record.
//
// A pod that is being deleted may have been counted as failed, or the controller
// has deleted it itself, as it does when a Job is suspended: nothing tells. All of
// them together are taken for one failure, so that the delay after one is kept, and
// a Job of many pods does not wait for ten minutes when it is resumed.
func (v *view) rebuilt() backoff.Record {
	var succeeded, failed []time.Time
	var lastDeleted time.Time
	for i := range v.census.Records {
		r := &v.census.Records[i]
		counted := !r.Is(tracking.Tracked) || r.Is(tracking.Parked)
		switch {
		case !counted || !r.Is(tracking.Valid):
		case r.Is(tracking.Succeeded):
			succeeded = append(succeeded, backoff.FinishTime(r.Pod))
		case r.Is(tracking.Failed) && r.Pod.DeletionTimestamp != nil && !r.Is(tracking.Parked):
			if at := backoff.FinishTime(r.Pod); at.After(lastDeleted) {
				lastDeleted = at
			}
		case r.Is(tracking.Failed):
			failed = append(failed, backoff.FinishTime(r.Pod))
		}
	}
	if !lastDeleted.IsZero() {
		failed = append(failed, lastDeleted)
	}
	record := backoff.Rebuild(v.job.UID, succeeded, failed)
	if at := v.memory.LastFailure; record.LastFailure.Before(at) || record.LastFailure.Equal(at) && record.Failures < v.memory.Failures {
		return v.memory
	}
	return record
}

// remembered is the record after the news. In doubt, what is news may have been
// counted already, together with the pods that the record was made of: then the
// last failure is the last of all.
func (v *view) remembered(news backoff.News) backoff.Record {
	record := v.memory.With(news)
	if v.inDoubt && !news.Succeeded && record.LastFailure.Before(v.memory.LastFailure) {
		record.LastFailure = v.memory.LastFailure
	}
	return record
}
