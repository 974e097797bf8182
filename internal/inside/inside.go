// Package inside gives the packages of this repository what package jobfate keeps to itself:
// the outcome behind a Decision, for explanations and tests, and the implementation of a
// Machine, for the test kit.
//
// It cannot import package jobfate, so it knows nothing of the types that it opens: package
// jobfate says how when it is initialized.
package inside

import (
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/machine"
)

var (
	outcomeOf func(decision any) *decide.Outcome
	machineOf func(m any) *machine.Machine
)

// Open says how to look into a Decision and into a *Machine.
func Open(decision func(any) *decide.Outcome, m func(any) *machine.Machine) {
	outcomeOf, machineOf = decision, m
}

// OutcomeOf returns the inputs and intermediate results of a jobfate.Decision; nil for the
// zero Decision.
func OutcomeOf(decision any) *decide.Outcome { return outcomeOf(decision) }

// MachineOf returns the implementation of a *jobfate.Machine.
func MachineOf(m any) *machine.Machine { return machineOf(m) }
