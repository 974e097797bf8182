package decide

import (
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
)

// rebuild makes the backoff record anew from the pods that have been counted,
// unless the one that is remembered knows of a later failure, or of more.
func rebuild(c *census.Census, remembered backoff.Record) backoff.Record {
	record := c.Rebuilt(remembered.Job)
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
	record := news.With(v.Backoff)
	if v.InDoubt && !news.Succeeded && record.LastFailure.Before(v.Backoff.LastFailure) {
		record.LastFailure = v.Backoff.LastFailure
	}
	return record
}
