package decide

import (
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
)

// rebuild computes the backoff record from the counted pods that still exist. It returns
// the remembered record if that one has a later failure, or the same last failure and a
// higher count.
func rebuild(c *census.Census, remembered backoff.Record) backoff.Record {
	record := c.Rebuilt(remembered.Job)
	if at := remembered.LastFailure; record.LastFailure.Before(at) || record.LastFailure.Equal(at) && record.Failures < remembered.Failures {
		return remembered
	}
	return record
}

// record returns the backoff record with the pods that are not counted yet added. With a
// backoff limit per index it stays as it is: the pods carry the failure counts, and a pod
// that waits for its replacement would be added at every sync.
//
// kept says that pods with a FailJob verdict are kept. They are left out, because they too
// would be added at every sync.
//
// In doubt, an earlier status write may already have counted these pods together with the
// pods that the record was rebuilt from. The last failure is then the latest of both.
func (v *View) record(kept bool) backoff.Record {
	if v.Spec.PerIndex {
		return v.Backoff
	}
	news := v.Census.News(kept)
	record := news.With(v.Backoff)
	if v.BackoffInDoubt && !news.Succeeded && record.LastFailure.Before(v.Backoff.LastFailure) {
		record.LastFailure = v.Backoff.LastFailure
	}
	return record
}
