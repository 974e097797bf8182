package simulation

import (
	"container/heap"
	"time"
)

// queue holds future actions in the order of time. Actions of the same time are in the order in
// which they were added. The zero queue is empty.
type queue struct {
	entries entries
	added   int
}

type entry struct {
	at time.Time
	nr int
	do func()
}

func (q *queue) add(at time.Time, do func()) {
	heap.Push(&q.entries, &entry{at, q.added, do})
	q.added++
}

// next returns the time of the next entry; false if there is none.
func (q *queue) next() (at time.Time, some bool) {
	if len(q.entries) == 0 {
		return time.Time{}, false
	}
	return q.entries[0].at, true
}

// do runs all actions up to a time.
func (q *queue) do(upTo time.Time) {
	for at, some := q.next(); some && !at.After(upTo); at, some = q.next() {
		heap.Pop(&q.entries).(*entry).do()
	}
}

// entries are a heap.
type entries []*entry

func (e entries) Len() int      { return len(e) }
func (e entries) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e entries) Less(i, j int) bool {
	if !e[i].at.Equal(e[j].at) {
		return e[i].at.Before(e[j].at)
	}
	return e[i].nr < e[j].nr
}

func (e *entries) Push(x any) { *e = append(*e, x.(*entry)) }

func (e *entries) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
