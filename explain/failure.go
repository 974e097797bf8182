package explain

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
)

// Failure is a failed pod and the way in which it failed.
type Failure struct {
	// Pod is the name of the pod.
	Pod string
	// Fault says how the pod failed. It is for people.
	Fault string
	// Match is the rule that the pod matches.
	Match failurepolicy.Match
}

// LastFailure returns the pod of the Job that failed last, by its finish time. If several
// finished at the same time, it returns the first. It is useful for Jobs that are not
// Indexed; in an Indexed Job each index has its own last failure. If no failed pod is
// known, it returns the zero Failure.
func (e Explanation) LastFailure() Failure {
	o := e.about
	if o.Outcome == nil {
		return Failure{}
	}
	var last *census.Record
	var finish time.Time
	for r := range o.View.Census.All() {
		if !r.Failed || !r.Valid {
			continue
		}
		at := backoff.FinishTime(r.Pod)
		if last == nil || at.After(finish) || at.Equal(finish) && r.Before(last) {
			last, finish = r, at
		}
	}
	if last == nil {
		return Failure{}
	}
	return Failure{Pod: last.Pod.Name, Fault: fault(last.Pod), Match: o.View.Spec.Policy.Match(last.Pod)}
}
