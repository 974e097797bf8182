package simulation

import (
	"cmp"
	"container/heap"
	"slices"
)

// lanes collects the lanes of a result.
type lanes struct {
	byIndex map[int32]*Lane
	free    free // the lanes without a pod, of a Job that is not Indexed
}

// of returns the lane of an index.
func (l *lanes) of(index int32) *Lane {
	lane := l.byIndex[index]
	if lane == nil {
		if l.byIndex == nil {
			l.byIndex = map[int32]*Lane{}
		}
		lane = &Lane{Index: index, Pods: []Pod{}, Waits: []Wait{}}
		l.byIndex[index] = lane
	}
	return lane
}

// take returns the first free lane, or a new one.
func (l *lanes) take() *Lane {
	if len(l.free) > 0 {
		return l.byIndex[heap.Pop(&l.free).(int32)]
	}
	return l.of(int32(len(l.byIndex)))
}

// release frees a lane that take has returned.
func (l *lanes) release(lane *Lane) { heap.Push(&l.free, lane.Index) }

// all returns copies of the lanes in their order.
func (l *lanes) all() []Lane {
	out := make([]Lane, 0, len(l.byIndex))
	for _, lane := range l.byIndex {
		out = append(out, *lane)
	}
	slices.SortFunc(out, func(a, b Lane) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// free is a heap.
type free []int32

func (f free) Len() int           { return len(f) }
func (f free) Less(i, j int) bool { return f[i] < f[j] }
func (f free) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *free) Push(x any)        { *f = append(*f, x.(int32)) }

func (f *free) Pop() any {
	last := len(*f) - 1
	x := (*f)[last]
	*f = (*f)[:last]
	return x
}
