package explore

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

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
	return x.late.get(x.begin(s), func() *referee.Violation {
		wait := p.after - time.Second
		if p.after == 0 {
			wait = x.Old
		}
		if wait <= 0 {
			return nil
		}
		later := x.aged(s, wait)
		q := x.positions[x.begin(&later)]
		if q.request == nil {
			return nil
		}
		return &referee.Violation{Property: "L5",
			Text: "the controller has set a requeue after " + p.after.String() +
				" (0: none), but after " + wait.String() + " it sends a request: " + string(q.request.Verb)}
	})
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
	to := x.resting()
	ends = len(to)
	for n := len(x.first); n < len(x.states); n++ {
		to = append(to, uint32(n))
	}
	reached := make([]bool, len(x.states))
	x.steps().reversed().walk(to, func(n uint32) bool {
		seen := reached[n]
		reached[n] = true
		return !seen
	})
	for n, ok := range reached {
		if !ok {
			return ends, &violation{at: uint32(n), after: x.states[n], what: &referee.Violation{
				Property: "L1", Text: "from here on, the Job can never come to rest",
			}}
		}
	}
	return ends, nil
}

// resting returns the states in which the Job is at rest.
func (x *search) resting() (rest []uint32) {
	for n := range x.states {
		if x.quiescent(&x.states[n]) {
			rest = append(rest, uint32(n))
		}
	}
	return rest
}

// graph holds, for each state, other states.
type graph struct {
	first []uint32
	to    []uint32
}

func (g graph) of(n uint32) []uint32 { return g.to[g.first[n]:g.first[n+1]] }

// steps returns the successors of each state; none of a state that was not expanded.
func (x *search) steps() graph {
	first := slices.Clone(x.first)
	for len(first) <= len(x.states) {
		first = append(first, uint32(len(x.next)))
	}
	return graph{first, x.next}
}

// reversed returns the predecessors of each state.
func (g graph) reversed() graph {
	back := graph{make([]uint32, len(g.first)), make([]uint32, len(g.to))}
	for _, n := range g.to {
		back.first[n+1]++
	}
	for n := range len(g.first) - 1 {
		back.first[n+1] += back.first[n]
	}
	at := slices.Clone(back.first)
	for from := range uint32(len(g.first) - 1) {
		for _, n := range g.of(from) {
			back.to[at[n]] = from
			at[n]++
		}
	}
	return back
}

// walk follows the graph from some states, through those for which take is true.
func (g graph) walk(from []uint32, take func(uint32) bool) {
	queue := slices.DeleteFunc(slices.Clone(from), func(n uint32) bool { return !take(n) })
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, next := range g.of(n) {
			if take(next) {
				queue = append(queue, next)
			}
		}
	}
}
