package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/decide"
)

// Snapshot is all that a decision depends on. Nothing in it is ever changed.
type Snapshot struct {
	// Job is the Job as the caller last saw it.
	Job *batchv1.Job
	// Pods are the pods that the Job controls and the pods of its namespace
	// that nobody controls, in any order. Pods of other owners are ignored.
	Pods []*corev1.Pod
	// Now is the one reading of the clock. A zero Now is an error.
	Now time.Time
	// Backoff is what the last decision asked to remember; zero at the start, when
	// it is in doubt.
	Backoff backoff.Record
	// BackoffInDoubt says that a status may have recorded failures that Backoff
	// lacks: the caller has just started, or has had no answer when it last stored
	// one. The pods that have been counted and are still there are then read as
	// well. That is right as long as the pods that failed since the last success,
	// and that last success, have not been deleted.
	BackoffInDoubt bool
	// LastStatus is when the caller last stored a status of the Job. Only
	// Throttle needs it.
	LastStatus time.Time
}

// Decide returns what to do for the Job in the snapshot. It fails, and decides
// nothing, in two cases: the snapshot cannot be understood, with an [InputError] that
// names the fields; or another controller manages the Job, with [ErrNotManaged], by
// errors.Is. Neither goes away by trying again.
func Decide(s Snapshot, opts ...Option) (Decision, error) {
	o, err := decide.Decide(decide.Input{
		Job:            s.Job,
		Pods:           s.Pods,
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
