package explore

import (
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobstatus"
)

// lives has the states of a search, and for each state the bounds of the pods of the Job
// from there on, while the spec stays the same.
type lives struct {
	*search
	next graph
	back graph

	running               []int64 // pods that are active in the state
	leastPeak, mostPeak   []int64 // pods at once
	leastAfter, mostAfter []int64 // pods created later
}

// without stands for states with no life that comes to rest, endless for lives that create
// pods forever.
const (
	without = int64(math.MaxInt32)
	endless = int64(math.MaxInt64)
)

func livesOf(x *search) *lives {
	l := &lives{search: x}
	l.next, l.back = x.graphs(l.standing)
	l.running = make([]int64, len(x.states))
	for n := range x.states {
		for _, pod := range l.podsOf(uint32(n)) {
			if !cluster.HasEnded(pod) {
				l.running[n]++
			}
		}
	}
	rest := l.atRest()
	l.peaks(rest)
	l.leastCreated(rest)
	l.mostCreated()
	return l
}

// graphs returns the successors and predecessors of each state, by the steps for which keep
// is true.
func (x *search) graphs(keep func(from, to uint32) bool) (next, back graph) {
	all := x.steps()
	next = graph{first: make([]uint32, 1, len(all.first))}
	for n := range uint32(len(x.states)) {
		for _, to := range all.of(n) {
			if keep(n, to) {
				next.to = append(next.to, to)
			}
		}
		next.first = append(next.first, uint32(len(next.to)))
	}
	return next, next.reversed()
}

// standing reports whether a step changes neither the UID nor the spec of the Job.
func (l *lives) standing(from, to uint32) bool {
	a, b := l.jobs.values[l.states[from].job], l.jobs.values[l.states[to].job]
	return a != nil && b != nil && a.Generation == b.Generation && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// podsOf returns the stored pods of the Job.
func (l *lives) podsOf(n uint32) []*corev1.Pod {
	pods := []*corev1.Pod{} // not nil, which would mean unknown
	s := &l.states[n]
	for i := range s.pods {
		if p := s.pods[i].stored; p != 0 && s.job != 0 && metav1.IsControlledBy(l.pods.values[p], l.jobs.values[s.job]) {
			pods = append(pods, l.pods.values[p])
		}
	}
	return pods
}

// creates reports whether a step creates a pod.
func (l *lives) creates(from, to uint32) bool {
	for i := range l.states[from].pods {
		if l.states[from].pods[i].stored == 0 && l.states[to].pods[i].stored != 0 {
			return true
		}
	}
	return false
}

// atRest returns the states in which the Job is at rest.
func (l *lives) atRest() (rest []uint32) {
	for n := range l.states {
		if l.quiescent(&l.states[n]) {
			rest = append(rest, uint32(n))
		}
	}
	return rest
}

// reach calls found for each state from which one of the given states is reachable through
// states for which may is true, including the given states.
func (l *lives) reach(to []uint32, may func(uint32) bool, found func(uint32)) {
	seen := make([]bool, len(l.states))
	l.back.walk(to, func(n uint32) bool {
		if seen[n] || !may(n) {
			return false
		}
		seen[n] = true
		found(n)
		return true
	})
}

func (l *lives) filled(v int64) []int64 {
	return slices.Repeat([]int64{v}, len(l.states))
}

func (l *lives) peaks(rest []uint32) {
	l.leastPeak, l.mostPeak = l.filled(without), l.filled(0)
	for peak := int64(MaxPods); peak >= 0; peak-- {
		l.reach(rest, func(n uint32) bool { return l.running[n] <= peak }, func(n uint32) { l.leastPeak[n] = peak })
	}
	for peak := int64(1); peak <= MaxPods; peak++ {
		var at []uint32
		for n, r := range l.running {
			if r >= peak {
				at = append(at, uint32(n))
			}
		}
		l.reach(at, func(uint32) bool { return true }, func(n uint32) { l.mostPeak[n] = peak })
	}
}

// leastCreated computes the least number of creations on a path to rest.
func (l *lives) leastCreated(rest []uint32) {
	l.leastAfter = l.filled(without)
	queue := rest
	for created := int64(0); len(queue) > 0; created++ {
		var later []uint32
		l.reachFree(queue, func(n uint32) bool {
			if l.leastAfter[n] != without {
				return false
			}
			l.leastAfter[n] = created
			return true
		}, func(before uint32) { later = append(later, before) })
		queue = later
	}
}

// reachFree goes backwards over steps that create no pod, through states for which take is
// true. It calls paid for the states before a creation.
func (l *lives) reachFree(queue []uint32, take func(uint32) bool, paid func(uint32)) {
	queue = slices.DeleteFunc(slices.Clone(queue), func(n uint32) bool { return !take(n) })
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, before := range l.back.of(n) {
			switch {
			case l.creates(before, n):
				paid(before)
			case take(before):
				queue = append(queue, before)
			}
		}
	}
}

// mostCreated computes the largest number of creations on any path. Each layer has the
// states from which one more creation is possible.
func (l *lives) mostCreated() {
	l.mostAfter = l.filled(0)
	layer := l.filled(0) // all states
	for created := int64(1); ; created++ {
		var at []uint32
		for n := range l.states {
			for _, to := range l.next.of(uint32(n)) {
				if layer[to] == created-1 && l.creates(uint32(n), to) {
					at = append(at, uint32(n))
					break
				}
			}
		}
		size := 0
		l.reach(at, func(uint32) bool { return true }, func(n uint32) { layer[n] = created; size++ })
		if size == 0 {
			return
		}
		for n := range layer {
			if layer[n] == created {
				l.mostAfter[n] = created
			}
		}
		if created > int64(len(l.states)) || l.repeats(layer, created) {
			for n := range layer {
				if layer[n] == created {
					l.mostAfter[n] = endless
				}
			}
			return
		}
	}
}

// repeats reports whether a layer equals the previous one, so that creations never end.
func (l *lives) repeats(layer []int64, created int64) bool {
	return !slices.Contains(layer, created-1)
}

func (l *lives) lifeOf(n int) jobstatus.Demand {
	running := l.running[n]
	d := jobstatus.Demand{
		AtOnce:  jobstatus.Range{Least: l.leastPeak[n], Most: l.mostPeak[n]},
		InTotal: jobstatus.Range{Least: running + l.leastAfter[n], Most: endless},
	}
	if d.Unbounded = l.mostAfter[n] == endless; !d.Unbounded {
		d.InTotal.Most = running + l.mostAfter[n]
	}
	return d
}

// searchLives runs a search, and reports whether it visited all states.
func searchLives(t *testing.T, c Config) (*lives, bool) {
	t.Helper()
	x := searchFor(t, c)
	r, err := x.run()
	if err != nil || r.Found != nil {
		t.Fatalf("%v (%v)", r.Found, err)
	}
	return livesOf(x), r.Complete
}
