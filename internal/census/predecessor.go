package census

import "github.com/jobfate/jobfate/internal/keys"

// Predecessor returns the failed pod that the next pod of an index replaces; nil when
// that is the first, and for an index that needs no new pod. Such a pod keeps its
// finalizer until its replacement is there, because only its annotations know how often
// the index has failed (KEP-3850 § Tracking the number of failures per index). Of several
// failed pods it is the one with the most failures, then the one that failed last: the
// count must never fall. A Job without a backoff limit per index has none.
func (c *Census) Predecessor(index int32) *Record { return c.waiting(index) }

// Predecessors returns them in the order of their indexes.
func (c *Census) Predecessors() (all []*Record) {
	for _, r := range c.failed {
		if c.waits(r) {
			all = append(all, r)
		}
	}
	sortRecords(all)
	return all
}

// waiting returns the pod of an index that waits for its replacement.
func (c *Census) waiting(index int32) *Record {
	r := c.failed[index]
	if r == nil || c.done(index) || c.running[index] > 0 {
		return nil
	}
	return r
}

// waits reports whether a pod waits for its replacement.
func (c *Census) waits(r *Record) bool { return len(c.failed) > 0 && c.waiting(r.Index) == r }

// countFailed keeps the last failed pod of an index. The list of failures is there for
// the one before it.
func (c *Census) countFailed(r *Record, by int32) {
	last := c.failed[r.Index]
	switch {
	case by > 0 && (last == nil || last.compareFailures(r) < 0):
		if c.failed == nil {
			c.failed = make(map[int32]*Record, c.expected())
		}
		c.failed[r.Index] = r
	case by < 0 && last == r:
		list := c.list(failures)
		list.remove(r) // of a list that has just been made
		before, ok := list.last(&Record{Index: r.Index + 1, Counts: fewest})
		if ok && before.Index == r.Index {
			c.failed[r.Index] = before
		} else {
			delete(c.failed, r.Index)
		}
	}
}

// fewest are before all counts of failures.
var fewest = keys.Counts{Failures: -1}
