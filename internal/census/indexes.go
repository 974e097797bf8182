package census

import (
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
)

// ActiveIndexes returns the indexes of the active pods. Pods without an index are left
// out.
func (c *Census) ActiveIndexes() indexset.Set {
	return c.indexes(int(c.Active), func(r *Record) bool { return r.Active })
}

// TerminatingIndexes returns the indexes of the terminating pods.
func (c *Census) TerminatingIndexes() indexset.Set {
	return c.indexes(int(c.Terminating), func(r *Record) bool { return r.Terminating })
}

// indexes returns the indexes of the pods that are wanted, with room for most of them.
func (c *Census) indexes(most int, wanted func(*Record) bool) indexset.Set {
	indexes := make([]int32, 0, most)
	for i := range c.Records {
		if r := &c.Records[i]; wanted(r) {
			indexes = append(indexes, r.Index)
		}
	}
	return indexset.Of(indexes...) // leaves out keys.NoIndex
}

// IndexResults are the indexes of an Indexed Job that are done.
type IndexResults struct {
	// Counted are the completed indexes of the status, within completions.
	Counted indexset.Set
	// Completed adds those whose pod has succeeded since.
	Completed indexset.Set
	// Failed are the failed indexes. No index is both completed and failed: a
	// success wins.
	Failed indexset.Set
}

// Finished returns the indexes that need no further pod.
func (r IndexResults) Finished() indexset.Set { return r.Completed.Union(r.Failed) }

// IndexResults returns the indexes that are done, given those of the status and the
// limit. An index fails when a failed pod of it has used up the limit, or matches a
// FailIndex rule (KEP-3850 § Tracking the number of failures per index).
func (c *Census) IndexResults(completed, failed indexset.Set, limit backoff.Limit) IndexResults {
	results := IndexResults{Counted: completed.Clip(c.classifier.Completions)}
	results.Completed = results.Counted
	if c.succeeded > 0 {
		results.Completed = results.Counted.Union(c.indexes(c.succeeded, func(r *Record) bool {
			return r.Succeeded && r.Finalized && r.Valid
		}))
	}
	if !c.classifier.PerIndex {
		return results
	}
	results.Failed = failed.Clip(c.classifier.Completions)
	if c.failed > 0 {
		results.Failed = results.Failed.Union(c.indexes(0, func(r *Record) bool {
			return r.Failed && r.Finalized && r.Valid && !r.Ignored &&
				(r.FailsIndex || limit.IndexExhausted(r.Counts.Failures))
		}))
	}
	results.Failed = results.Failed.Difference(results.Completed)
	return results
}
