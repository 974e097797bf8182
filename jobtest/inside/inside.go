// Package inside gives test kits access to a Machine: its memory, and how it decides. Nothing else imports it.
package inside

import (
	"slices"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/machine"
)

// Decider returns a decision on a snapshot with the given option as the only one. usual returns
// the decision that the Machine would make itself, from the pods that it keeps.
type Decider = func(s decide.Snapshot, o decide.Option, usual Usual) (decide.Decision, error)

// Usual decides as a Machine does.
type Usual = func(decide.Snapshot) (decide.Decision, error)

// Memory returns the memory of a Machine.
func Memory(m *machine.Machine) *memory.Memory { return memory.Open(m.Memory()) }

// Decide makes a Machine decide with the given function, to plant a bug or to watch decisions.
func Decide(m *machine.Machine, how Decider) {
	m.Decider = func(pods *decide.Pods, s decide.Snapshot, o decide.Option) (decide.Decision, error) {
		s.Pods = pods.List()
		return how(s, o, func(s decide.Snapshot) (decide.Decision, error) { return pods.Decide(s, o) })
	}
}

// Amended decides, and then changes the decision.
func Amended(how func(decide.Snapshot, *decide.Decision)) Decider {
	return func(s decide.Snapshot, o decide.Option, _ Usual) (decide.Decision, error) {
		d, err := decide.Job(s, o)
		if err == nil {
			how(s, &d)
		}
		return d, err
	}
}

// DeletingFirst makes a Machine carry out each decision as it is, like the Job controller: pods are deleted because the
// Job ends before the interim condition is stored. It is for comparisons of decisions, and for a planted bug.
func DeletingFirst(s decide.Snapshot, _ decide.Option, usual Usual) (decide.Decision, error) {
	d, err := usual(s)
	d.Delete = slices.Clone(d.Delete)
	for i := range d.Delete {
		if d.Delete[i].Cause == decide.CauseJobEnds {
			d.Delete[i].Cause = "" // the Machine waits for no verdict
		}
	}
	return d, err
}

// ForEnd reports whether a pod is deleted because the Job ends, also after DeletingFirst.
func ForEnd(d decide.Deletion) bool { return d.Cause == decide.CauseJobEnds || d.Cause == "" }
