package census

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
	// ByIndex are the records of these pods, in the order of their indexes.
	ByIndex []*Record

	waiting []uint64 // their positions in the census, as bits
}

// Predecessors returns them, given the indexes that need no new pod. Of several
// failed pods of one index it takes the one with the most failures, then the
// one that failed last: the count must never fall. A Job without a backoff limit
// per index has none.
func (c *Census) Predecessors(finished, active indexset.Set) Predecessors {
	if !c.classifier.Indexed || !c.classifier.PerIndex || c.failed == 0 {
		return Predecessors{}
	}
	p := Predecessors{waiting: make([]uint64, len(c.Records)/64+1)}
	settled := finished.Union(active)
	for i := range c.Records {
		if r := &c.Records[i]; r.Failed && r.Tracked && r.Valid && !settled.Contains(r.Index) {
			p.waiting[i/64] |= 1 << (i % 64)
		}
	}
	failed := c.inOrder(func(at int, _ *Record) bool { return p.holds(at) })
	last := failed[:0] // of each index
	for _, at := range failed {
		r, n := &c.Records[at], len(last)
		if n == 0 || c.Records[last[n-1]].Index != r.Index {
			last = append(last, at)
			continue
		}
		earlier := at
		if !r.failedBefore(&c.Records[last[n-1]]) {
			earlier, last[n-1] = last[n-1], at
		}
		p.waiting[earlier/64] &^= 1 << (earlier % 64)
	}
	p.ByIndex = c.at(last)
	return p
}

// failedBefore reports whether r is an earlier failure of its index than o.
func (r *Record) failedBefore(o *Record) bool {
	if c := r.Counts.Compare(o.Counts); c != 0 {
		return c < 0
	}
	return r.finishedBefore(o)
}

// Of returns the predecessor for an index, or nil when its next pod is its first.
func (p Predecessors) Of(index int32) *Record {
	i, found := slices.BinarySearchFunc(p.ByIndex, index, func(r *Record, index int32) int {
		return cmp.Compare(r.Index, index)
	})
	if !found {
		return nil
	}
	return p.ByIndex[i]
}

// holds reports whether the pod at a position waits for its replacement.
func (p Predecessors) holds(at int) bool {
	return len(p.waiting) > 0 && p.waiting[at/64]>>(at%64)&1 != 0
}
