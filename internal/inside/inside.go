// Package inside gives packages of this repository access to unexported parts of package jobfate:
// the outcome behind a Decision, for explanations and tests, and the implementation of a Machine,
// for the test kit.
//
// The package knows nothing about the types of package jobfate, which it cannot import. When
// package jobfate is initialized, it passes functions that return these parts.
package inside

import (
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/machine"
)

var (
	outcomeOf func(decision any) *decide.Outcome
	machineOf func(m any) *machine.Machine
)

// Open sets the functions that return the outcome of a Decision, and the implementation of a
// *Machine.
func Open(decision func(any) *decide.Outcome, m func(any) *machine.Machine) {
	outcomeOf, machineOf = decision, m
}

// OutcomeOf returns the inputs and intermediate results of a jobfate.Decision, or nil for the zero
// Decision.
func OutcomeOf(decision any) *decide.Outcome { return outcomeOf(decision) }

// MachineOf returns the implementation of a *jobfate.Machine.
func MachineOf(m any) *machine.Machine { return machineOf(m) }

// Deciding replaces the function with which a *jobfate.Machine decides, to inject a bug or to observe
// decisions.
func Deciding(m any, how func(decide.Input, decide.Config) (*decide.Outcome, error)) {
	machineOf(m).Decide = func(t *decide.Tally, in decide.Input, c *decide.Config) (*decide.Outcome, error) {
		in.Pods = t.Pods()
		return how(in, *c)
	}
}
