package simulation

import (
	"cmp"
	"slices"
)

// lanes collects the lanes of a result.
type lanes struct {
	byIndex map[int32]*Lane
	free    []int32 // the lanes without a pod, of a Job that is not Indexed, in their order
}

// of returns the lane of an index.
func (l *lanes) of(index int32) *Lane {
	lane := l.byIndex[index]
	if lane == nil {
		lane = &Lane{Index: index, Pods: []Pod{}, Waits: []Wait{}}
		l.byIndex[index] = lane
	}
	return lane
}

// take returns the first free lane, or a new one.
func (l *lanes) take() *Lane {
	if len(l.free) == 0 {
		return l.of(int32(len(l.byIndex)))
	}
	first := l.free[0]
	l.free = l.free[1:]
	return l.byIndex[first]
}

// release frees a lane that take has returned.
func (l *lanes) release(lane *Lane) {
	at, _ := slices.BinarySearch(l.free, lane.Index)
	l.free = slices.Insert(l.free, at, lane.Index)
}

// all returns copies of the lanes in their order.
func (l *lanes) all() []Lane {
	out := make([]Lane, 0, len(l.byIndex))
	for _, lane := range l.byIndex {
		out = append(out, *lane)
	}
	slices.SortFunc(out, func(a, b Lane) int { return cmp.Compare(a.Index, b.Index) })
	return out
}
