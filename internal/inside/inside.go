// Package inside gives test kits access to a Machine: its memory, and how it decides. Nothing else
// imports it. It reads unexported fields by their names, so package jobfate need not export them.
package inside

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/memory"
)

// Decider returns a decision on a snapshot with the given option as the only one. usual returns
// the decision that the Machine would make itself, from the pods that it keeps.
type Decider = func(s jobfate.Snapshot, o jobfate.Option, usual Usual) (jobfate.Decision, error)

// Usual decides as a Machine does.
type Usual = func(jobfate.Snapshot) (jobfate.Decision, error)

// Memory returns the memory of a Machine.
func Memory(m *jobfate.Machine) *memory.Memory { return field[memory.Memory](m, "memory") }

// Decide makes a Machine decide with the given function, to plant a bug or to watch decisions.
func Decide(m *jobfate.Machine, how Decider) { *field[Decider](m, "decider") = how }

// Amend makes a Machine change each of its decisions before it carries them out.
func Amend(m *jobfate.Machine, how func(jobfate.Snapshot, *jobfate.Decision)) {
	Decide(m, Amended(how))
}

// Amended decides, and then changes the decision.
func Amended(how func(jobfate.Snapshot, *jobfate.Decision)) Decider {
	return func(s jobfate.Snapshot, o jobfate.Option, _ Usual) (jobfate.Decision, error) {
		d, err := jobfate.Decide(s, o)
		if err == nil {
			how(s, &d)
		}
		return d, err
	}
}

// DeleteFirst makes a Machine carry out each decision as it is, like the Job controller: pods are deleted because the
// Job ends before the interim condition is stored. It is for comparisons of decisions, and for a planted bug.
func DeleteFirst(m *jobfate.Machine) {
	Decide(m, func(s jobfate.Snapshot, _ jobfate.Option, usual Usual) (jobfate.Decision, error) {
		d, err := usual(s)
		d.Delete = slices.Clone(d.Delete)
		for i := range d.Delete {
			if d.Delete[i].Cause == jobfate.CauseJobEnds {
				d.Delete[i].Cause = "" // the Machine waits for no verdict
			}
		}
		return d, err
	})
}

// ForEnd reports whether a pod is deleted because the Job ends, also after DeleteFirst.
func ForEnd(d jobfate.Deletion) bool { return d.Cause == jobfate.CauseJobEnds || d.Cause == "" }

// field returns the address of a field of a Machine. It panics if the field has another type.
func field[T any](m *jobfate.Machine, name string) *T {
	f := reflect.ValueOf(m).Elem().FieldByName(name)
	if want := reflect.TypeFor[T](); !f.IsValid() || !f.Type().ConvertibleTo(want) || f.Type().Kind() != want.Kind() {
		panic("the field " + name + " of a Machine is not a " + want.String())
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
