package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// A search that ends early has not expanded its last states. From each of them it follows
// one path without faults: no other client interferes, the caches catch up, the controller
// proceeds, and pods succeed. The path must lead to a state at rest (L1, L2, L3). The
// referee checks its steps as well.

// longWay limits the number of states that the search for one path visits. A path to rest
// has some dozens.
const longWay = 10_000

// faultless follows a path from each state that was not expanded.
func (x *search) faultless() (found *violation) {
	c := &faultlessSearch{search: x, seen: map[uint32]bool{}}
	// A path may reach new states that it does not expand. These get their own paths.
	for n := uint32(len(x.first)); int(n) < len(x.states) && found == nil && x.err == nil; n++ {
		found = c.follow(n)
	}
	return found
}

// faultlessSearch is the state of the search for paths without faults.
type faultlessSearch struct {
	*search
	leads []bool // for each state, whether it is known to lead to rest
	seen  map[uint32]bool
}

// branch is a state on a path with the moves still to try there, the best one last.
type branch struct {
	at    uint32
	moves []faultlessMove
}

type faultlessMove struct {
	move
	rank  int
	after state
}

// follow searches for a path from a state to one that leads to rest. It backtracks if it
// reaches a state again.
func (c *faultlessSearch) follow(n uint32) *violation {
	clear(c.seen)
	var way []branch
	for at := n; !c.atRest(at); {
		if !c.seen[at] {
			c.seen[at] = true
			moves, found := c.faultlessMoves(at)
			if found != nil {
				return found
			}
			way = append(way, branch{at, moves})
		}
		for len(way) > 0 && len(way[len(way)-1].moves) == 0 {
			way = way[:len(way)-1]
		}
		if len(way) == 0 || len(c.seen) > longWay {
			return &violation{at: n, after: c.states[n], what: &referee.Violation{
				Property: "L1", Text: fmt.Sprintf(
					"without further faults, the Job comes to rest in none of %d states", len(c.seen)),
			}}
		}
		last := &way[len(way)-1]
		next := last.moves[len(last.moves)-1]
		last.moves = last.moves[:len(last.moves)-1]
		c.canonical(&c.states[last.at], &next.after)
		at = c.number(next.after, last.at, next.move)
	}
	c.leads = append(c.leads, make([]bool, len(c.states)-len(c.leads))...)
	for _, b := range way {
		c.leads[b.at] = true
	}
	return nil
}

// atRest reports whether a state is at rest or known to lead there.
func (c *faultlessSearch) atRest(n uint32) bool {
	return int(n) < len(c.leads) && c.leads[n] || c.quiescent(&c.states[n])
}

// faultlessMoves returns the moves in a state after the caches have caught up, without faults
// and edits of the spec.
func (c *faultlessSearch) faultlessMoves(at uint32) (moves []faultlessMove, found *violation) {
	s, shown := c.caughtUp(&c.states[at])
	faults := s.faults
	if s.other != 0 {
		s.other, faults = 0, 0 // it never continues, so its pods need no places
	}
	s.faults = 0
	c.moves(&s, visitor(func(m move, after state, v *referee.Violation) {
		after.faults = faults
		if v != nil && found == nil {
			found = &violation{at: at, move: &m, after: after, what: v}
		}
		if rank := c.rank(m); rank >= 0 {
			moves = append(moves, faultlessMove{m, rank, after})
		}
	}).after(shown))
	if found == nil {
		found = c.lateRequeue(at)
	}
	slices.SortStableFunc(moves, func(a, b faultlessMove) int { return cmp.Compare(a.rank, b.rank) })
	return moves, found
}

// rank orders the moves of a path; the highest comes first. It is negative for unnecessary
// moves.
func (c *faultlessSearch) rank(m move) int {
	switch m.kind {
	case showJob, showPod:
		return 5
	case proceed:
		return 4
	case end:
		if int(m.detail) < len(c.Codes) && c.Codes[m.detail] != 0 {
			return 2
		}
		return 3
	case collect, removeJob:
		return 3
	case reap:
		return 1
	case pass:
		return 0
	}
	return -1
}
