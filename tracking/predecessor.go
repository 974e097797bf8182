package tracking

import (
	"cmp"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// Predecessors holds, for each index that needs a new pod, the failed pod that
// the new one replaces. Such a pod keeps its finalizer until its replacement is
// there, because only its annotations know how often the index has failed
// (KEP-3850 § Tracking the number of failures per index).
type Predecessors struct {
	byIndex []*Record
}

// Predecessors returns them, given the indexes that need no new pod. Of several
// failed pods of one index it takes the one with the most failures, then the
// one that failed last: the count must never fall. A Job without a backoff limit
// per index has none.
func (c *Census) Predecessors(finished, active indexset.Set) Predecessors {
	if !c.lens.Indexed || !c.lens.PerIndex {
		return Predecessors{}
	}
	failed := c.inOrder(func(r *Record) bool {
		return r.Is(Tracked|Valid|Failed) && !finished.Contains(r.Index) && !active.Contains(r.Index)
	})
	latest := failed[:0]
	for _, r := range failed {
		n := len(latest)
		switch {
		case n == 0 || latest[n-1].Index != r.Index:
			latest = append(latest, r)
		case !r.failedBefore(latest[n-1]):
			latest[n-1] = r
		}
	}
	return Predecessors{byIndex: latest}
}

// failedBefore reports whether r is an earlier failure of its index than o.
func (r *Record) failedBefore(o *Record) bool {
	if mine, other := r.Counts.Total(), o.Counts.Total(); mine != other {
		return mine < other
	}
	return r.finishedBefore(o)
}

// Len returns the number of indexes that have a predecessor.
func (p Predecessors) Len() int { return len(p.byIndex) }

// All returns the predecessors in the order of their indexes.
func (p Predecessors) All() []*Record { return p.byIndex }

// Of returns the predecessor for an index, or nil when its next pod is its
// first.
func (p Predecessors) Of(index int32) *Record {
	i, found := slices.BinarySearchFunc(p.byIndex, index, func(r *Record, index int32) int {
		return cmp.Compare(r.Index, index)
	})
	if !found {
		return nil
	}
	return p.byIndex[i]
}

// holds reports whether r waits for its replacement.
func (p Predecessors) holds(r *Record) bool {
	waiting := p.Of(r.Index)
	return waiting != nil && waiting.Pod == r.Pod
}
