package explore

import (
	"fmt"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// Replay goes the way of a trace and returns what is found on it: the same
// violation, or nil once it has been mended. It fails when the way no longer
// exists.
func Replay(c Config, way []Move) (*Trace, error) {
	c.AllOrders = true // each move of its own
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
			x.canonical(&next)
			at = x.number(next, at, m)
		})
		switch {
		case x.err != nil:
			return nil, x.err
		case !reached:
			return nil, fmt.Errorf("move %d, %s: it cannot happen there", i+1, want)
		case found != nil:
			return x.trace(found), nil
		}
	}
	s := x.states[at]
	if v := x.punctual(&s); v != nil {
		return x.trace(&violation{at: at, after: s, what: v}), nil
	}
	return nil, x.err
}
