package explore

import (
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// lives has the states of a search, and for each state the bounds of the pods of the Job
// from there on, while the spec stays the same.
type lives struct {
	*search
	next graph
	back graph
	free graph // back, without the steps that create a pod

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
	l.next = l.stepsThat(l.standing)
	l.back = l.next.reversed()
	l.free = l.stepsThat(func(from, to uint32) bool { return l.standing(from, to) && !l.creates(from, to) }).reversed()
	l.running = make([]int64, len(x.states))
	for n := range x.states {
		for _, pod := range l.podsOf(uint32(n)) {
			if !cluster.HasEnded(pod) {
				l.running[n]++
			}
		}
	}
	rest := l.resting()
	l.peaks(rest)
	l.leastCreated(rest)
	l.mostCreated()
	return l
}

// stepsThat returns the successors of each state, by the steps for which keep is true.
func (l *lives) stepsThat(keep func(from, to uint32) bool) graph {
	all := l.steps()
	next := graph{first: make([]uint32, 1, len(all.first))}
	for n := range uint32(len(l.states)) {
		for _, to := range all.of(n) {
			if keep(n, to) {
				next.to = append(next.to, to)
			}
		}
		next.first = append(next.first, uint32(len(next.to)))
	}
	return next
}

// standing reports whether a step changes neither the UID nor the spec of the Job.
func (l *lives) standing(from, to uint32) bool {
	return l.sameSpec(l.states[from].job, l.states[to].job)
}

// sameSpec reports whether two versions of a Job have the same spec, and both or neither are being deleted.
func (l *lives) sameSpec(n, m uint16) bool {
	a, b := l.jobs.values[n], l.jobs.values[m]
	return a != nil && b != nil && a.Generation == b.Generation && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil)
}

// podsOf returns the stored pods of the Job.
func (l *lives) podsOf(n uint32) (pods []*corev1.Pod) {
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

func (l *lives) filled(v int64) []int64 {
	return slices.Repeat([]int64{v}, len(l.states))
}

// raise raises a value of the states from which one of the given states is reachable.
func (l *lives) raise(values []int64, to []uint32, value int64) {
	l.back.walk(to, func(n uint32) bool {
		rises := values[n] < value
		values[n] = value
		return rises
	})
}

func (l *lives) peaks(rest []uint32) {
	l.leastPeak, l.mostPeak = l.filled(without), l.filled(0)
	for peak := int64(maxPods); peak >= 0; peak-- {
		l.back.walk(rest, func(n uint32) bool {
			falls := l.running[n] <= peak && l.leastPeak[n] > peak
			if falls {
				l.leastPeak[n] = peak
			}
			return falls
		})
	}
	for peak := int64(1); peak <= maxPods; peak++ {
		var at []uint32
		for n, r := range l.running {
			if r >= peak {
				at = append(at, uint32(n))
			}
		}
		l.raise(l.mostPeak, at, peak)
	}
}

// leastCreated computes the least number of creations on a path to rest.
func (l *lives) leastCreated(rest []uint32) {
	l.leastAfter = l.filled(without)
	for created, queue := int64(0), rest; len(queue) > 0; created++ {
		var later []uint32 // the states before one more creation
		l.free.walk(queue, func(n uint32) bool {
			if l.leastAfter[n] != without {
				return false
			}
			l.leastAfter[n] = created
			for _, before := range l.back.of(n) {
				if l.creates(before, n) {
					later = append(later, before)
				}
			}
			return true
		})
		queue = later
	}
}

// mostCreated computes the largest number of creations on any path. Each round raises it for the
// states from which one more creation is possible.
func (l *lives) mostCreated() {
	l.mostAfter = l.filled(0)
	for created := int64(1); ; created++ {
		var at []uint32
		for n := range uint32(len(l.states)) {
			if slices.ContainsFunc(l.next.of(n), func(to uint32) bool { return l.mostAfter[to] == created-1 && l.creates(n, to) }) {
				at = append(at, n)
			}
		}
		if len(at) == 0 {
			return
		}
		l.raise(l.mostAfter, at, created)
		if !slices.Contains(l.mostAfter, created-1) { // the same states as in the last round, so creations never end
			for n := range l.mostAfter {
				if l.mostAfter[n] == created {
					l.mostAfter[n] = endless
				}
			}
			return
		}
	}
}

func (l *lives) lifeOf(n int) decide.Demand {
	running := l.running[n]
	d := decide.Demand{
		AtOnce:  decide.Range{Least: l.leastPeak[n], Most: l.mostPeak[n]},
		InTotal: decide.Range{Least: running + l.leastAfter[n], Most: endless},
	}
	if d.Unbounded = l.mostAfter[n] == endless; !d.Unbounded {
		d.InTotal.Most = running + l.mostAfter[n]
	}
	return d
}

// searchLives runs a search, and reports whether it visited all states.
func searchLives(t *testing.T, c config) (*lives, bool) {
	t.Helper()
	x := Must(newSearch(c))
	r, err := x.run()
	if err != nil || r.Found != nil {
		t.Fatalf("%v (%v)", r.Found, err)
	}
	return livesOf(x), r.Complete
}
