package explore

import (
	"fmt"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// Replay executes the moves of a trace. It returns the violation that it finds, or nil if
// the bug is fixed. It fails if a move is no longer possible.
func Replay(c Config, way []Move) (*Trace, error) {
	c.AllOrders = true // each move is separate
	x, err := newSearch(c)
	if err != nil {
		return nil, err
	}
	at := uint32(0)
	for i, want := range way {
		s, reached := x.states[at], false
		var found *violation
		x.moves(&s, func(m move, next state, v *referee.Violation) {
			if m.text() != want || reached {
				return
			}
			reached = true
			if v != nil {
				found = &violation{at: at, move: &m, after: next, what: v}
				return
			}
			x.canonical(&s, &next)
			at = x.number(next, at, m)
		})
		switch {
		case x.err != nil:
			return nil, x.err
		case !reached:
			return nil, fmt.Errorf("move %d, %s is not possible in its state", i+1, want)
		case found != nil:
			return x.trace(found), nil
		}
	}
	s := x.states[at]
	if v := x.checkRequeue(&s); v != nil {
		return x.trace(&violation{at: at, after: s, what: v}), nil
	}
	return nil, x.err
}
