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
	p := Predecessors{census: c, waiting: make([]uint64, len(c.Records)/64+1)}
	settled := finished.Union(active)
	for i := range c.Records {
		if r := &c.Records[i]; r.Is(Tracked|Valid|Failed) && !settled.Contains(r.Index) {
			p.waiting[i/64] |= 1 << (i % 64)
		}
	}
	failed := c.inOrder(func(at int, _ *Record) bool { return p.holds(at) })
	p.byIndex = failed[:0]
	for _, at := range failed {
		r, n := &c.Records[at], len(p.byIndex)
		if n == 0 || c.Records[p.byIndex[n-1]].Index != r.Index {
			p.byIndex = append(p.byIndex, at)
			continue
		}
		earlier := at
		if !r.failedBefore(&c.Records[p.byIndex[n-1]]) {
			earlier, p.byIndex[n-1] = p.byIndex[n-1], at
		}
		p.waiting[earlier/64] &^= 1 << (earlier % 64)
	}
	return p
}

// failedBefore reports whether r is an earlier failure of its index than o.
func (r *Record) failedBefore(o *Record) bool {
	if c := r.Counts.Compare(o.Counts); c != 0 {
		return c < 0
	}
	return r.finishedBefore(o)
}

// Len returns the number of indexes that have a predecessor.
func (p Predecessors) Len() int { return len(p.byIndex) }

// All returns the predecessors in the order of their indexes.
func (p Predecessors) All() []*Record { return p.census.at(p.byIndex) }

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

// Walk looks predecessors up for indexes that only increase. At 10^3 pods it takes
// less than a tenth of the time of Predecessors.Of.
type Walk struct {
	p    Predecessors
	next int // the first that has not been passed
}

// Walk starts a walk.
func (p Predecessors) Walk() Walk { return Walk{p: p} }

// Of is Predecessors.Of for an index that is no less than the one before.
func (w *Walk) Of(index int32) *Record {
	for ; w.next < w.p.Len(); w.next++ {
		if r := &w.p.census.Records[w.p.byIndex[w.next]]; r.Index >= index {
			if r.Index == index {
				return r
			}
			break
		}
	}
	return nil
}

// holds reports whether the pod at a position waits for its replacement.
func (p Predecessors) holds(at int) bool {
	return len(p.waiting) > 0 && p.waiting[at/64]>>(at%64)&1 != 0
}
