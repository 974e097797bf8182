package explore

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Result is the result of a search.
type Result struct {
	// States and Transitions are the numbers of states and transitions.
	States, Transitions int
	// Faultless is the number of further states on the paths from the last states to rest, if
	// the search ended early.
	Faultless int
	// Ends is the number of states in which the Job has come to rest.
	Ends int
	// Complete says that the search visited all states.
	Complete bool
	// Found is the shortest counterexample; nil if every property holds.
	Found *Trace
}

// search is a search in progress.
type search struct {
	config
	limit time.Time // the earliest time
	err   error

	jobs       table[string, *batchv1.Job]
	pods       table[string, *corev1.Pod]
	memories   table[string, caller]
	ghosts     table[string, referee.Ghost]
	parked     table[parked, parked]
	positions  []*position
	fresh      uint32 // the memory of a new controller
	deletes    bool   // whether a fault deletes the Job
	twoLeaders bool   // whether there may be two leaders
	unanswered bool   // the answer to the request being served is lost

	// Results that were already computed.
	versionedJobs computed[versioned, *batchv1.Job]
	versionedPods computed[versioned, *corev1.Pod]
	begins        computed[syncInput, uint32]
	jobEffects    computed[jobEffect, effect]
	podAnswers    computed[podEffect, answer]
	verdicts      computed[seen, verdict]
	lives         computed[lifeKey, uint16]
	editedJobs    computed[editKey, uint16]
	agedJobs      computed[agedKey, uint16]
	agedPods      computed[agedKey, uint16]
	agedMemory    computed[agedKey, uint32]
	mentions      computed[uint16, uint8]
	remembers     computed[uint32, uint8]
	forgotten     computed[forgottenKey, uint32]
	lasting       computed[uint32, uint32]
	leaderGhosts  computed[ghostKey, uint32]
	late          computed[uint32, *referee.Violation] // by position

	numbers map[state]uint32
	states  []state
	from    []uint32 // for each state, the state from which it was first reached
	by      []move
	first   []uint32 // for each expanded state, where its successors begin
	next    []uint32
}

func run(c config) (Result, error) {
	x, err := newSearch(c)
	if err != nil {
		return Result{}, err
	}
	return x.run()
}

func (x *search) run() (r Result, err error) {
	var found *violation
	for at := 0; at < len(x.states) && found == nil && x.err == nil; at++ {
		if x.Limit > 0 && len(x.states) >= x.Limit {
			break
		}
		x.first = append(x.first, uint32(len(x.next)))
		found = x.expand(uint32(at))
		r.Complete = at+1 == len(x.states)
	}
	if x.err != nil {
		return r, x.err
	}
	r.States, r.Transitions = len(x.states), len(x.next)
	if found == nil {
		found = x.faultless()
		r.Faultless = len(x.states) - r.States
	}
	if found == nil && x.err == nil {
		r.Ends, found = x.unreachable()
	}
	if x.err != nil {
		return r, x.err
	}
	if found != nil {
		r.Found = x.trace(found)
	}
	return r, nil
}

// violation is a violation with its place: a move in a state.
type violation struct {
	at    uint32
	move  *move   // nil: in the state itself
	shown objects // the objects with which the caches have caught up
	after state
	what  *referee.Violation
}

func newSearch(c config) (*search, error) {
	if len(c.Ticks) == 0 {
		c.Ticks = []time.Duration{time.Hour}
	}
	if c.Old == 0 {
		c.Old = time.Hour
	}
	if c.New == nil {
		c.New = func() *cluster.Caller { return jobtest.NewCaller() }
	}
	x := &search{
		config: c, limit: noon.Add(-c.Old),
		jobs: newTable[string, *batchv1.Job](), pods: newTable[string, *corev1.Pod](),
		memories: newTable[string, caller](), ghosts: newTable[string, referee.Ghost](),
		parked: newTable[parked, parked](), positions: make([]*position, 1), numbers: map[state]uint32{},
	}
	cl, err := cluster.New(c.Job, noon)
	if err != nil {
		return nil, err
	}
	var ghost referee.Ghost
	ghost.Started(cl.Job())
	x.deletes = slices.ContainsFunc(c.Kinds, func(k faultKind) bool { return k >= deleteJob && k <= deleteJobOrphan })
	x.twoLeaders = slices.Contains(c.Kinds, otherLeader)
	x.fresh = x.memoryNumber(caller{c.New(), c.Bug})
	start := state{job: x.jobNumber(cl.Job()), memory: x.fresh, ghost: x.ghostNumber(ghost), faults: uint8(c.Faults)}
	start.seenJob = start.job
	x.number(start, 0, move{})
	return x, nil
}

// number returns the number of a state, and adds a new one.
func (x *search) number(s state, from uint32, by move) uint32 {
	if n, ok := x.numbers[s]; ok {
		return n
	}
	n := uint32(len(x.states))
	x.numbers[s] = n
	x.states = append(x.states, s)
	x.from = append(x.from, from)
	x.by = append(x.by, by)
	return n
}

// expand visits all moves in a state.
func (x *search) expand(at uint32) (found *violation) {
	s := x.states[at]
	x.moves(&s, func(m move, next state, v *referee.Violation) {
		if found != nil {
			return
		}
		if v != nil {
			found = &violation{at: at, move: &m, after: next, what: v}
			return
		}
		x.canonical(&s, &next)
		if next != s {
			to := x.number(next, at, m)
			x.next = append(x.next, to)
			x.observe(at, m, to)
		}
	})
	if found == nil {
		found = x.lateRequeue(at)
	}
	return found
}

// lateRequeue returns a violation if the requeue of the controller is too late.
func (x *search) lateRequeue(at uint32) *violation {
	s := x.states[at]
	if s.at != 0 {
		return nil
	}
	late, shown := x.caughtUp(&s)
	if v := x.checkRequeue(&late); v != nil {
		return &violation{at: at, shown: shown, after: late, what: v}
	}
	return nil
}
