package explain

import (
	"fmt"

	"github.com/jobfate/jobfate/internal/census"
)

// uncounted returns notes about pods of the Job that have finished and cannot be counted. A
// pod without the finalizer looks as if it had been counted, but the status does not count
// it.
func (o outcome) uncounted() (notes []Reason) {
	var misplaced, lost []*census.Record
	for _, r := range o.View.Census.AllInOrder() {
		switch {
		case !r.Valid && (r.Succeeded || r.Failed):
			misplaced = append(misplaced, r)
		case r.Succeeded && !r.Finalized && (!o.View.Spec.Indexed || !o.View.Totals.Results.Completed.Contains(r.Index)):
			lost = append(lost, r)
		}
	}
	if n := len(misplaced); n > 0 {
		notes = append(notes, Reason{Code: NoteNotCounted, Text: fmt.Sprintf("%s finished without an index below completions and cannot be counted, such as %s",
			pods(n), misplaced[0].Pod.Name)})
	}
	if o.View.InFlight.Status {
		return notes // the status that may count the others is not observed yet
	}
	if n := len(lost) - o.countedWithout(); n > 0 {
		notes = append(notes, Reason{Code: NoteNotCounted, Text: fmt.Sprintf("%s succeeded without the finalizer %s and cannot be counted, such as %s",
			pods(n), o.View.Keys().Finalizer, lost[len(lost)-1].Pod.Name)})
	}
	return notes
}

// countedWithout is the number of pods without a finalizer that the status may have counted
// or still lists. It is 0 for an Indexed Job, whose completed indexes show which pods were
// counted.
func (o outcome) countedWithout() int {
	if o.View.Spec.Indexed {
		return 0
	}
	status := &o.View.Job.Status
	counted := int(status.Succeeded)
	if u := status.UncountedTerminatedPods; u != nil {
		counted += len(u.Succeeded)
	}
	return counted
}
