package explore

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// rest caches facts about a position at which a sync ends without a request.
type rest struct {
	late *referee.Violation
}

// idle returns the position of a sync on fresh caches that sends no request; nil if it
// sends one.
func (x *search) idle(s *state) *position {
	if s.at != 0 || !s.current() {
		return nil
	}
	p := x.positions[x.begin(s)]
	if p.request != nil || p.err != nil {
		return nil
	}
	return p
}

// checkRequeue checks L5: if the Job waits only for a time, the controller has set a
// requeue for that time or earlier.
func (x *search) checkRequeue(s *state) *referee.Violation {
	p := x.idle(s)
	if p == nil {
		return nil
	}
	at := x.begin(s)
	if r, ok := x.rests[at]; ok {
		return r.late
	}
	var r rest
	wait := p.after - time.Second
	if p.after == 0 {
		wait = x.Old
	}
	if wait > 0 {
		later := x.aged(s, wait)
		if q := x.positions[x.begin(&later)]; q.request != nil {
			r.late = &referee.Violation{Property: "L5",
				Text: "the controller has set a requeue after " + p.after.String() +
					" (0: none), but after " + wait.String() + " it sends a request: " + string(q.request.Verb)}
		}
	}
	x.rests[at] = r
	return r.late
}

// quiescent reports whether the Job is at rest once the caches have caught up: no component
// has anything to do.
func (x *search) quiescent(s *state) bool {
	current, _ := x.caughtUp(s)
	p := x.idle(&current)
	if p == nil || p.after != 0 {
		return false
	}
	for i := range s.pods {
		if n := s.pods[i].stored; n != 0 && !x.settled(s.job, x.pods.values[n]) {
			return false
		}
	}
	return x.needsNoPods(s.job)
}

// settled reports whether a pod has ended and needs no more action. With a limit per index
// the controller keeps a failed pod until it is replaced, even if the pod is being deleted,
// and a suspended Job does not replace it.
func (x *search) settled(n uint16, pod *corev1.Pod) bool {
	if !cluster.HasEnded(pod) {
		return false
	}
	job := x.jobs.values[n]
	kept := !referee.Ended(job) && job.Spec.BackoffLimitPerIndex != nil && pod.Status.Phase == corev1.PodFailed
	return kept || !x.Rules.Keys.HasFinalizer(pod)
}

// needsNoPods reports whether a Job is gone, has ended, or must have no pods.
func (x *search) needsNoPods(n uint16) bool {
	job := x.jobs.values[n]
	return referee.Ended(job) || *job.Spec.Suspend || *job.Spec.Parallelism == 0
}

// unreachable finds a state from which the Job cannot come to rest any more (L1, L2, L3).
// It also returns the number of states at rest. States that were not expanded lead to rest,
// as faultless has checked.
func (x *search) unreachable() (ends int, found *violation) {
	backwards := x.reversed()
	reached := make([]bool, len(x.states))
	var queue []uint32
	for n := range x.states {
		atRest := x.quiescent(&x.states[n])
		if atRest {
			ends++
		}
		if atRest || n >= len(x.first) {
			reached[n] = true
			queue = append(queue, uint32(n))
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, before := range backwards.of(n) {
			if !reached[before] {
				reached[before] = true
				queue = append(queue, before)
			}
		}
	}
	for n, ok := range reached {
		if !ok {
			return ends, &violation{at: uint32(n), after: x.states[n], what: &referee.Violation{
				Property: "L1", Text: "from here on, the Job can never come to rest",
			}}
		}
	}
	return ends, nil
}

// graph holds, for each state, other states.
type graph struct {
	first []uint32
	to    []uint32
}

func (g *graph) of(n uint32) []uint32 { return g.to[g.first[n]:g.first[n+1]] }

// reversed returns the predecessors of each state.
func (x *search) reversed() graph {
	g := graph{make([]uint32, len(x.states)+1), make([]uint32, len(x.next))}
	for _, n := range x.next {
		g.first[n+1]++
	}
	for n := range x.states {
		g.first[n+1] += g.first[n]
	}
	at := slices.Clone(g.first)
	for from := range x.first {
		end := len(x.next)
		if from+1 < len(x.first) {
			end = x.first[from+1]
		}
		for _, n := range x.next[x.first[from]:end] {
			g.to[at[n]] = uint32(from)
			at[n]++
		}
	}
	return g
}
