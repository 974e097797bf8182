package jobstatus

import (
	"math"

	"github.com/jobfate/jobfate/indexset"
)

// surplus returns how many of the completed indexes must not be so that no rule is
// satisfied.
func (p *SuccessPolicy) surplus(completed indexset.Set) (most int64) {
	if p == nil || completed.IsEmpty() {
		return 0
	}
	for i := range p.rules {
		r := &p.rules[i]
		most = max(most, int64(r.named.IntersectionLen(completed))-int64(max(r.need, 1))+1)
	}
	return most
}

// before returns how many more indexes may complete, at most, before a rule is
// satisfied. Each rule is looked at on its own.
func (p *SuccessPolicy) before(completed, unfinished indexset.Set) int64 {
	most := int64(unfinished.Len())
	if p == nil {
		return most
	}
	for i := range p.rules {
		r := &p.rules[i]
		named := int64(r.named.IntersectionLen(unfinished))
		may := int64(max(r.need, 1)) - 1 - int64(r.named.IntersectionLen(completed))
		most = min(most, int64(unfinished.Len())-named+min(named, max(0, may)))
	}
	return most
}

// lacks returns how many pods it takes, at least, to satisfy a rule. Covers returns
// how many of some indexes need none.
func (p *SuccessPolicy) lacks(completed, unfinished indexset.Set, covers func(indexset.Set) int64) int64 {
	least := int64(math.MaxInt64)
	for i := range p.rules {
		r := &p.rules[i]
		named := r.named.Intersection(unfinished)
		lacks := int64(r.need) - int64(r.named.IntersectionLen(completed))
		if lacks <= int64(named.Len()) {
			least = min(least, lacks-covers(named))
		}
	}
	return least
}
