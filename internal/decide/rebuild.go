package decide

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
)

// rebuild makes the backoff record anew from the pods that have been counted,
// unless the one that is remembered knows of a later failure, or of more. Pods that
// are still to be counted are news, and not of the record.
//
// A pod that is being deleted may have been counted as failed, or the controller
// has deleted it itself, as it does when a Job is suspended: nothing tells. All of
// them together are taken for one failure, so that the delay after one is kept, and
// a Job of many pods does not wait for ten minutes when it is resumed.
func rebuild(c *census.Census, remembered backoff.Record) backoff.Record {
	var succeeded, failed []time.Time
	var lastDeleted time.Time
	for i := range c.Records {
		r := &c.Records[i]
		counted := !r.Tracked || r.Listed
		switch {
		case !counted || !r.Valid:
		case r.Succeeded:
			succeeded = append(succeeded, backoff.FinishTime(r.Pod))
		case r.Failed && r.Pod.DeletionTimestamp != nil && !r.Listed:
			if at := backoff.FinishTime(r.Pod); at.After(lastDeleted) {
				lastDeleted = at
			}
		case r.Failed:
			failed = append(failed, backoff.FinishTime(r.Pod))
		}
	}
	if !lastDeleted.IsZero() {
		failed = append(failed, lastDeleted)
	}
	record := backoff.Record{Job: remembered.Job}.With(succeeded, failed)
	if at := remembered.LastFailure; record.LastFailure.Before(at) || record.LastFailure.Equal(at) && record.Failures < remembered.Failures {
		return remembered
	}
	return record
}

// record is the backoff record after the news. With a backoff limit per index the
// pods themselves carry the memory, and a pod that waits for its replacement would be
// news at every look.
//
// Pods that are kept because they carry a FailJob verdict are no news yet: they would
// be at every look.
//
// In doubt, what is news may have been counted already, together with the pods that
// the record was made of: then the last failure is the last of all.
func (v *View) record(kept bool) backoff.Record {
	if v.Spec.PerIndex {
		return v.Backoff
	}
	news := v.Census.News(kept)
	record := v.Backoff.With(news.Succeeded, news.Failed)
	if v.InDoubt && len(news.Succeeded) == 0 && record.LastFailure.Before(v.Backoff.LastFailure) {
		record.LastFailure = v.Backoff.LastFailure
	}
	return record
}
