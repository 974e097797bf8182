package census

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// InOrder returns the records that are wanted, in the order of Before.
func (c *Census) InOrder(wanted func(*Record) bool) []*Record {
	return c.at(c.inOrder(func(_ int, r *Record) bool { return wanted(r) }))
}

// ActiveInOrder returns the records of active pods, in the order of Before.
func (c *Census) ActiveInOrder() []*Record {
	return c.InOrder(func(r *Record) bool { return r.Active })
}

// AllInOrder returns all records, in the order of Before.
func (c *Census) AllInOrder() []*Record {
	return c.InOrder(func(*Record) bool { return true })
}

// at returns the records at the given positions.
func (c *Census) at(positions []int32) []*Record {
	records := make([]*Record, len(positions))
	for i, at := range positions {
		records[i] = &c.Records[at]
	}
	return records
}

// inOrder returns the positions of the records that are wanted, in the order of
// Before.
func (c *Census) inOrder(wanted func(at int, r *Record) bool) []int32 {
	n, lowest, highest := 0, int32(math.MaxInt32), int32(math.MinInt32)
	for i := range c.Records {
		if r := &c.Records[i]; wanted(i, r) {
			lowest, highest = min(lowest, r.Index), max(highest, r.Index)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	order := make([]int32, n)
	if span := int64(highest) - int64(lowest) + 1; c.classifier.Indexed && span <= 2*int64(n) {
		c.distribute(order, make([]int32, span), lowest, wanted)
	} else {
		c.sort(order, wanted)
	}
	return order
}

// distribute puts the records that are wanted in order where their indexes are
// dense. It counts the records of each index, and so knows where they go: a tenth
// of the time of sorting them at 10^3 pods, and a thirtieth at 10^5.
func (c *Census) distribute(order, places []int32, lowest int32, wanted func(at int, r *Record) bool) {
	for i := range c.Records {
		if r := &c.Records[i]; wanted(i, r) {
			places[r.Index-lowest]++
		}
	}
	next := int32(0)
	for i, n := range places {
		places[i], next = next, next+n
	}
	for i := range c.Records {
		if r := &c.Records[i]; wanted(i, r) {
			order[places[r.Index-lowest]] = int32(i)
			places[r.Index-lowest]++
		}
	}
	begin := int32(0)
	for _, end := range places { // each has moved on to the end of its records
		if end-begin > 1 {
			slices.SortFunc(order[begin:end], func(a, b int32) int {
				return cmp.Compare(c.Records[a].Pod.UID, c.Records[b].Pod.UID)
			})
		}
		begin = end
	}
}

// key is what a record is sorted by. To follow two pointers to a UID in each
// comparison takes ten times as long at 10^5 pods.
type key struct {
	index int32
	at    int32  // the position in Records
	uid   uint64 // the start of the UID
}

// sort puts the records that are wanted in order, whatever their indexes.
func (c *Census) sort(order []int32, wanted func(at int, r *Record) bool) {
	keys := make([]key, 0, len(order))
	for i := range c.Records {
		r := &c.Records[i]
		if !wanted(i, r) {
			continue
		}
		keys = append(keys, key{r.Index, int32(i), start(r.Pod.UID)})
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.index != b.index:
			return cmp.Compare(a.index, b.index)
		case a.uid != b.uid:
			return cmp.Compare(a.uid, b.uid)
		}
		return cmp.Compare(c.Records[a.at].Pod.UID, c.Records[b.at].Pod.UID)
	})
	for i, k := range keys {
		order[i] = k.at
	}
}

// start returns the first eight bytes of a UID. They compare as the UIDs do,
// unless they are equal.
func start(uid types.UID) uint64 {
	var first [8]byte
	copy(first[:], uid)
	return binary.BigEndian.Uint64(first[:])
}
