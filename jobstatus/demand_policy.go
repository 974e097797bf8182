package jobstatus

import (
	"math"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// successRules are the rules of the Job's success policy that can be satisfied.
type successRules []lifecycle.SuccessRule

// surplus returns how many of the completed indexes would have to be incomplete so that no
// rule is satisfied.
func (rules successRules) surplus(completed indexset.Set) (most int64) {
	for i := range rules {
		r := &rules[i]
		most = max(most, int64(r.Named.IntersectionLen(completed))-int64(max(r.Need, 1))+1)
	}
	return most
}

// before returns the largest number of further indexes that may complete before a rule is
// satisfied. It considers each rule separately.
func (rules successRules) before(completed, unfinished indexset.Set) int64 {
	most := int64(unfinished.Len())
	for i := range rules {
		r := &rules[i]
		named := int64(r.Named.IntersectionLen(unfinished))
		may := int64(max(r.Need, 1)) - 1 - int64(r.Named.IntersectionLen(completed))
		most = min(most, int64(unfinished.Len())-named+min(named, max(0, may)))
	}
	return most
}

// lacks returns the smallest number of pods to create that satisfies a rule. covers returns
// how many of the given indexes already have a pod that may finish them.
func (rules successRules) lacks(completed, unfinished indexset.Set, covers func(indexset.Set) int64) int64 {
	least := int64(math.MaxInt64)
	for i := range rules {
		r := &rules[i]
		named := r.Named.Intersection(unfinished)
		lacks := int64(r.Need) - int64(r.Named.IntersectionLen(completed))
		if lacks <= int64(named.Len()) {
			least = min(least, lacks-covers(named))
		}
	}
	return least
}
