package census

import (
	"slices"

	"github.com/jobfate/jobfate/internal/classify"
)

// list identifies one of the sorted lists of a census. A list is made when it is first
// needed, and kept up to date from then on.
type list int

const (
	claims    list = iota // the pods to adopt, to release or to free, by UID
	tracked               // the pods that carry the finalizer
	countable             // the tracked pods that have finished and do not wait for a replacement
	failJob               // the pods that match a FailJob rule
	active                // the active pods
	deleted               // the terminating and the lost pods
	failures              // the failed pods that a new pod may replace, by index and failures
	lists
)

// kinds defines which pods belong to each list, and their order.
var kinds = [lists]struct {
	belongs func(*Record) bool // in countable, those that wait for a replacement excepted
	compare func(a, b *Record) int
}{
	claims:    {func(r *Record) bool { return r.Relation != classify.Owned && r.Relation != classify.Foreign }, byUID},
	tracked:   {func(r *Record) bool { return r.Tracked }, (*Record).compare},
	countable: {func(r *Record) bool { return r.Tracked && (r.Succeeded || r.Failed) }, (*Record).compare},
	failJob:   {func(r *Record) bool { return r.FailsJob() }, (*Record).compare},
	active:    {func(r *Record) bool { return r.Active }, (*Record).compare},
	deleted:   {func(r *Record) bool { return r.Terminating || r.Lost }, byUID},
	failures:  {(*Record).replaceable, (*Record).compareFailures},
}

// list returns a list, which it makes if necessary.
func (c *Census) list(l list) *ordered[*Record] {
	if c.lists[l] == nil && c.members[l] > 0 {
		var members []*Record
		for _, r := range c.records.all() {
			if c.listed(l, r) {
				members = append(members, r)
			}
		}
		slices.SortFunc(members, kinds[l].compare)
		c.lists[l] = newOrdered(kinds[l].compare, members)
	}
	return c.lists[l]
}

func (c *Census) listed(l list, r *Record) bool {
	return kinds[l].belongs(r) && !(l == countable && c.waits(r))
}

// register adds a record to the lists that it belongs to, or removes it.
func (c *Census) register(r *Record, by int32) {
	for l := range lists {
		if kinds[l].belongs(r) {
			c.members[l] += by
			c.update(l, r, by == 1)
		}
	}
}

// update adds a record to a list or removes it. If it is no longer present in the census, it
// belongs to no list.
func (c *Census) update(l list, r *Record, present bool) {
	list := c.lists[l]
	switch {
	case list == nil:
	case present && c.listed(l, r):
		list.insert(r)
	default:
		list.remove(r)
	}
}
