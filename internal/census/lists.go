package census

import (
	"cmp"
	"encoding/binary"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/owner"
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
	failures              // the failed pods that a new pod may replace, by index and failures
	lists
)

// kinds define which pods belong to each list, and their order.
var kinds = [lists]struct {
	belongs func(*Census, *Record) bool
	compare func(a, b *Record) int
}{
	claims:    {func(_ *Census, r *Record) bool { return toClaim(r) }, byUID},
	tracked:   {func(_ *Census, r *Record) bool { return r.Tracked }, (*Record).compare},
	countable: {func(c *Census, r *Record) bool { return r.ended() && !c.waits(r) }, (*Record).compare},
	failJob:   {func(_ *Census, r *Record) bool { return r.FailsJob }, (*Record).compare},
	active:    {func(_ *Census, r *Record) bool { return r.Active }, (*Record).compare},
	failures:  {func(_ *Census, r *Record) bool { return r.replaceable() }, (*Record).CompareFailures},
}

func toClaim(r *Record) bool { return r.Relation != owner.Owned && r.Relation != owner.Foreign }

func byUID(a, b *Record) int { return cmp.Compare(a.Pod.UID, b.Pod.UID) }

// list returns a list, which it makes if necessary.
func (c *Census) list(l list) *ordered[*Record] {
	if c.lists[l] == nil {
		kind := kinds[l]
		var members []*Record
		for _, r := range c.records {
			if kind.belongs(c, r) {
				members = append(members, r)
			}
		}
		if l == tracked || l == countable || l == active {
			sortRecords(members)
		} else {
			slices.SortFunc(members, kind.compare)
		}
		c.lists[l] = newOrdered(kind.compare, members)
	}
	return c.lists[l]
}

// register adds a record to the lists that it belongs to, and removes it from the others. If
// it is no longer present in the census, it belongs to none.
func (c *Census) register(r *Record, present bool) {
	for l, list := range &c.lists {
		switch {
		case list == nil:
		case present && kinds[l].belongs(c, r):
			list.insert(r)
		default:
			list.remove(r)
		}
	}
}

// sortRecords sorts records in the order of Before. It compares the start of the UIDs
// first: following two pointers to a UID in each comparison would take several times as
// long at 10^5 pods.
func sortRecords(records []*Record) {
	type key struct {
		index int32
		uid   uint64 // the start of the UID
		r     *Record
	}
	keys := make([]key, len(records))
	for i, r := range records {
		keys[i] = key{r.Index, start(r.Pod.UID), r}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.index != b.index {
			return cmp.Compare(a.index, b.index)
		}
		if a.uid != b.uid {
			return cmp.Compare(a.uid, b.uid)
		}
		return byUID(a.r, b.r)
	})
	for i, k := range keys {
		records[i] = k.r
	}
}

// start returns the first eight bytes of a UID. If they differ, they compare as the UIDs
// do.
func start(uid types.UID) uint64 {
	var first [8]byte
	copy(first[:], uid)
	return binary.BigEndian.Uint64(first[:])
}
