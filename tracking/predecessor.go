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
	census  *Census
	byIndex []int32  // positions of records, in the order of their indexes
	waiting []uint64 // the same positions, as bits
}

// Predecessors returns them, given the indexes that need no new pod. Of several
// failed pods of one index it takes the one with the most failures, then the
// one that failed last: the count must never fall. A Job without a backoff limit
// per index has none.
func (c *Census) Predecessors(finished, active indexset.Set) Predecessors {
	if !c.lens.Indexed || !c.lens.PerIndex || c.failed == 0 {
		return Predecessors{}
	}
	settled := c.room.sets.Union(finished, active)
	failed := c.inOrder(&c.room.positions, func(_ int, r *Record) bool {
		return r.Is(Tracked|Valid|Failed) && !settled.Contains(r.Index)
	})
	latest := failed[:0]
	for _, at := range failed {
		r, n := &c.Records[at], len(latest)
		switch {
		case n == 0 || c.Records[latest[n-1]].Index != r.Index:
			latest = append(latest, at)
		case !r.failedBefore(&c.Records[latest[n-1]]):
			latest[n-1] = at
		}
	}
	if len(latest) == 0 {
		return Predecessors{}
	}
	p := Predecessors{census: c, byIndex: latest, waiting: c.room.words.take(len(c.Records)/64 + 1)}
	for _, at := range latest {
		p.waiting[at/64] |= 1 << (at % 64)
	}
	return p
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
func (p Predecessors) All() []*Record {
	if p.Len() == 0 {
		return nil
	}
	return p.census.at(p.byIndex)
}

// Of returns the predecessor for an index, or nil when its next pod is its
// first.
func (p Predecessors) Of(index int32) *Record {
	i, found := slices.BinarySearchFunc(p.byIndex, index, func(at, index int32) int {
		return cmp.Compare(p.census.Records[at].Index, index)
	})
	if !found {
		return nil
	}
	return &p.census.Records[p.byIndex[i]]
}

// holds reports whether the pod at a position waits for its replacement.
func (p Predecessors) holds(at int) bool {
	return len(p.waiting) > 0 && p.waiting[at/64]>>(at%64)&1 != 0
}
