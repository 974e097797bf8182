package census

import "github.com/jobfate/jobfate/internal/classify"

// Predecessor returns the failed pod that the next pod of an index replaces. It returns nil
// if the next pod is the first, if the index needs no new pod, and if the Job has no
// backoff limit per index. The predecessor keeps its finalizer until its replacement
// exists, because only its annotations say how often the index has failed (KEP-3850 §
// Tracking the number of failures per index). Of several failed pods, the predecessor is
// the one with the most failures, then the one that failed last, because the count must
// never fall.
func (c *Census) Predecessor(index int32) *Record {
	if c.indexed == nil {
		return nil
	}
	r := c.failed.at(index)
	if r == nil || c.done(index) || c.running.at(index) > 0 {
		return nil
	}
	return r
}

// waits reports whether a pod waits for its replacement.
func (c *Census) waits(r *Record) bool { return c.Predecessor(r.Index) == r }

// countFailed updates the last failed pod of an index.
func (c *Census) countFailed(r *Record, by int32) {
	last, next := c.failed.at(r.Index), r
	switch {
	case by == -1:
		next = c.failedBesides(r)
	case last != nil && last.compareFailures(r) > 0:
		next = last
	}
	c.failed.set(r.Index, next)
	switch {
	case last == nil:
		c.failedIndexes++
	case next == nil:
		c.failedIndexes--
	}
}

// failedBesides returns the last failed pod of the index of another one; nil if there is none.
func (c *Census) failedBesides(r *Record) *Record {
	if c.failedIndexes == c.members[failures] { // as usual, no index has two
		return nil
	}
	list := c.list(failures)
	list.remove(r) // a list that has just been made may still contain it
	// It comes before all failed pods of the next index.
	next := &Record{PodRecord: classify.PodRecord{Index: r.Index + 1,
		Class: &classify.Class{Counts: classify.Counts{Failures: -1}}}}
	if other, ok := list.last(next); ok && other.Index == r.Index {
		return other
	}
	return nil
}
