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
// one that failed last: the count must never fall.
func (c *Census) Predecessors(finished, active indexset.Set) Predecessors {
	var p Predecessors
	for i := range c.Records {
		r := &c.Records[i]
		if r.Is(Tracked|Valid|Failed) && !finished.Contains(r.Index) && !active.Contains(r.Index) {
			p.byIndex = append(p.byIndex, r)
		}
	}
	byAge := func(a, b *Record) int {
		return cmp.Or(
			cmp.Compare(a.Index, b.Index),
			cmp.Compare(a.Counts.Total(), b.Counts.Total()),
			cmp.Compare(a.finish, b.finish),
			cmp.Compare(a.nanos, b.nanos),
			cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	}
	if !slices.IsSortedFunc(p.byIndex, byAge) {
		slices.SortFunc(p.byIndex, byAge)
	}
	last := p.byIndex[:0]
	for i, r := range p.byIndex {
		if i+1 == len(p.byIndex) || p.byIndex[i+1].Index != r.Index {
			last = append(last, r)
		}
	}
	p.byIndex = last
	return p
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
	return len(p.byIndex) > 0 && p.Of(r.Index) == r
}
