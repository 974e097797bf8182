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

// places tracks the capacity of the cluster; each running pod takes one place.
type places struct {
	most  *int32 // the capacity; nil is no limit
	taken int32
	queue []*simPod // pods without a place, in the order of their creation
}

// admitted assigns free places to waiting pods, and returns these pods.
func (p *places) admitted() (in []*simPod) {
	for len(p.queue) > 0 && (p.most == nil || p.taken < *p.most) {
		l := p.queue[0]
		p.queue = p.queue[1:]
		if l.gone {
			continue
		}
		p.take(l)
		in = append(in, l)
	}
	return in
}

// take gives a place to a pod.
func (p *places) take(l *simPod) {
	l.placed = true
	p.taken++
}

// leave frees the place of a pod, if it has one.
func (p *places) leave(l *simPod) {
	if l.placed {
		l.placed = false
		p.taken--
	}
}
