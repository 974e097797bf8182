package simulation

import (
	"slices"
	"time"
)

// queue holds future actions in the order of time. Actions of the same time are in the order in
// which they were added.
type queue []*entry

type entry struct {
	at time.Time
	do func()
}

func (q *queue) add(at time.Time, do func()) {
	i, _ := slices.BinarySearchFunc(*q, at, func(e *entry, at time.Time) int {
		if e.at.After(at) {
			return 1
		}
		return -1 // also of the same time
	})
	*q = slices.Insert(*q, i, &entry{at, do})
}

// next returns the time of the next entry; false if there is none.
func (q queue) next() (at time.Time, some bool) {
	if len(q) == 0 {
		return time.Time{}, false
	}
	return q[0].at, true
}

// do runs all actions up to a time.
func (q *queue) do(upTo time.Time) {
	for at, some := q.next(); some && !at.After(upTo); at, some = q.next() {
		first := (*q)[0]
		*q = (*q)[1:]
		first.do()
	}
}
