package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/decide"
)

// Snapshot is the input of a decision, besides the options. Decide changes nothing in it.
type Snapshot struct {
	// Job is the Job as the caller last saw it.
	Job *batchv1.Job
	// Pods are the pods that the Job controls and the pods of its namespace
	// without a controller, in any order. Pods of other owners are ignored.
	Pods []*corev1.Pod
	// Now is the one reading of the clock. A zero Now is an error.
	Now time.Time
	// Backoff is the Backoff of the last decision. Without one it is zero, and
	// BackoffInDoubt must be set.
	Backoff backoff.Record
	// BackoffInDoubt says that a status may have recorded failures that Backoff
	// lacks: another controller runs the Job and the caller only explains it, the caller
	// has just started, or its last status write had no answer.
	// Decide then also uses the counted pods that still exist to compute the backoff.
	// The result is correct unless pods that failed since the last success, or the
	// pod of that success, have been deleted.
	BackoffInDoubt bool
	// LastStatus is when the caller last stored a status of the Job. Only
	// Throttle needs it.
	LastStatus time.Time
}

// Decide returns what to do for the Job in the snapshot. It returns an [InputError] that
// names the fields if the snapshot or an option is invalid, and [ErrNotManaged] (use
// errors.Is) if another controller manages the Job. Retrying does not help with either.
func Decide(s Snapshot, opts ...Option) (Decision, error) {
	var tally decide.Tally
	tally.List(s.Pods)
	o, err := tally.Decide(decide.Input{
		Job:            s.Job,
		Now:            s.Now,
		Backoff:        s.Backoff,
		BackoffInDoubt: s.BackoffInDoubt,
		LastStatus:     s.LastStatus,
	}, configure(opts))
	if err != nil {
		return Decision{}, publicError(err)
	}
	return newDecision(o), nil
}
