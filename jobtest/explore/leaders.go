package explore

import (
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Two leaders exist from the fault [SecondLeader] until the first one stops. It may stop at
// any time. A state then has the second leader in its fields, and the first one under the
// number first. Their requests and the updates of their caches may follow in any order, and
// the search tries all of them. Time passes only between the syncs of both.

// parked is the part of a state that belongs to one leader, while the state has the other
// one in its fields. What the two share is zero.
type parked struct {
	state
	blind, inDoubt bool // of the ghost
}

// lag says when the first change of a pod that a cache does not show was made. It is kept only
// while there are two leaders: the status of the other one counts pods whose changes this
// cache may not show yet.
type lag uint8

const (
	beforeSeenJob lag = iota // or it is not known, or the cache shows every change
	beforeJob                // before the stored Job, after the Job that the cache shows
	afterJob
)

// park returns the number of the leader in the fields of a state.
func (x *search) park(s *state) uint32 {
	p := parked{state: *s}
	if x.lasts(s) {
		p.memory = x.ofLastingJob(p.memory)
	}
	p.job, p.ghost, p.faults, p.edits, p.first = 0, 0, 0, 0, 0
	for i := range p.pods {
		p.pods[i].stored = 0
	}
	g := &x.ghosts.values[s.ghost]
	p.blind, p.inDoubt = g.Blind, g.InDoubt
	return x.parkedNumber(p)
}

func (x *search) parkedNumber(p parked) uint32 {
	if n, ok := x.parkedNumbers[p]; ok {
		return n
	}
	n := uint32(len(x.parked))
	x.parkedNumbers[p] = n
	x.parked = append(x.parked, p)
	return n
}

// swapped returns a state with the other leader in its fields.
func (x *search) swapped(s *state) state {
	p := &x.parked[s.first]
	next := p.state
	next.job, next.faults, next.edits, next.first = s.job, s.faults, s.edits, x.park(s)
	for i := range next.pods {
		next.pods[i].stored = s.pods[i].stored
	}
	next.ghost = x.ghostOf(s.ghost, p.blind, p.inDoubt)
	return next
}

type ghostKey struct {
	ghost          uint32
	blind, inDoubt bool
}

// ghostOf returns a ghost with what it knows of the leader that acts next.
func (x *search) ghostOf(ghost uint32, blind, inDoubt bool) uint32 {
	key := ghostKey{ghost, blind, inDoubt}
	n, ok := x.ghostsOf[key]
	if !ok {
		g := x.ghosts.values[ghost].Clone()
		g.Blind, g.InDoubt = blind, inDoubt
		n = x.ghostNumber(g)
		x.ghostsOf[key] = n
	}
	return n
}

// startSecond starts the second leader, with fresh or with stale caches.
func (x *search) startSecond(s *state, m move, yield visitor) {
	if s.first != 0 {
		return
	}
	next := *s
	next.faults--
	next.first = x.park(&next)
	x.restart(&next, m, nil, yield)
}

// leaderMoves yields the requests of the leaders, the updates of their caches, and the end of
// the first leader.
func (x *search) leaderMoves(s *state, yield visitor) {
	x.movesOfLeader(s, yield)
	if s.first == 0 {
		return
	}
	first := x.swapped(s)
	x.movesOfLeader(&first, func(m move, next state, v *referee.Violation) {
		m.detail = ofFirst
		yield(m, x.swapped(&next), v)
	})
	next := *s
	next.first = 0
	for i := range next.pods {
		next.pods[i].lag = 0
	}
	yield(move{kind: stop}, next, nil)
}

// ofFirst is the detail of a move of the first of two leaders.
const ofFirst = 1

func (x *search) movesOfLeader(s *state, yield visitor) {
	own := x.beside(s, true, yield)
	x.controllerMoves(s, own)
	x.cacheMoves(s, own)
}

// beside returns a visitor for moves while there are two leaders. It keeps how the caches lag,
// and what the other leader cannot know.
func (x *search) beside(s *state, byLeader bool, yield visitor) visitor {
	if s.first == 0 {
		return yield
	}
	before := *s
	return func(m move, next state, v *referee.Violation) {
		other := x.parked[next.first]
		other.lagBehind(&before, &next)
		next.lagBehind(&before, &next)
		changed := before.job != next.job
		if changed {
			other.mark = unknown
		}
		for i := range other.pods {
			if before.pods[i].stored != next.pods[i].stored {
				other.pods[i].mark, changed = unknown, true
			}
		}
		other.blind = other.blind || byLeader && changed
		next.first = x.parkedNumber(other)
		yield(m, next, v)
	}
}

// lagBehind records since when a cache does not show the stored pods, after a move.
func (s *state) lagBehind(before, after *state) {
	for i := range s.pods {
		p, stored := &s.pods[i], after.pods[i].stored
		switch {
		case p.seen == stored:
			p.lag = 0
		case before.pods[i].stored != stored && p.seen == before.pods[i].stored:
			p.lag = afterJob
		case p.lag == afterJob && before.job != after.job:
			p.lag = beforeJob
		}
	}
}
