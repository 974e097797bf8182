package jobfate

import (
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Scratch is memory for decisions. A caller that decides often keeps one for
// each of its workers: from its third use on, a decision that changes nothing
// allocates nothing, unless the Job has a selector with expressions or of more than four
// labels. The zero Scratch is ready for use. It is not safe for concurrent use.
//
// No decision depends on what a Scratch was used for before.
//
// The fields of a Decision never point into a Scratch and stay as they are. Its
// methods do work there: Revise, Settle, and those of Why are to be called
// before the Scratch is used again. Called later they do no harm. Revise then
// asks for nothing but to look again, Settle settles nothing, and Why knows
// nothing.
//
// A Scratch holds on to the last snapshot until it is used again. To let go of
// it, and of the memory, make a new one.
type Scratch struct {
	turn          int // counts the uses
	view          view
	sets          indexset.Arena
	failurePolicy failurepolicy.Arena
	successPolicy jobstatus.SuccessPolicy
	census        tracking.Census
	plan          step
	step          step
}

// Decide is the function of that name. A nil Scratch is as a new one.
func (c *Scratch) Decide(s Snapshot, opts ...Option) (Decision, error) {
	if c == nil {
		c = new(Scratch)
	}
	v, err := c.read(s, opts)
	if err != nil {
		return Decision{}, err
	}
	return c.decide(v), nil
}

// memo is a step that may be in a Scratch, and in which of its uses.
type memo struct {
	step *step
	turn int
}

func (s *step) memo() memo { return memo{s, s.turn} }

// get returns the step; nil when there is none or its Scratch has been used
// again.
func (m memo) get() *step {
	if m.step == nil || m.step.turn != m.turn {
		return nil
	}
	return m.step
}
