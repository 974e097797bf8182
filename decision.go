package jobfate

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/decide"
)

// Decision is what to do for a Job, and what holds once all of it has succeeded. A
// [Machine] carries it out: what happens between two writes, and what is counted once
// finalizers are gone, is its business.
//
// The pods in Claim, Delete and Strip, and those that a Creation replaces, are the
// pods of the snapshot, and must not be changed. The lists, Status and what
// Creation.Pod returns belong to the caller.
type Decision struct {
	// Claim are the pods to adopt, to release, and to free. The rest of the
	// decision takes for granted that they succeed.
	Claim []Claim
	// Delete are the pods to delete. Some lose their finalizer first, so that
	// they do not count.
	Delete []Deletion
	// Create are the pods to create; never together with Delete.
	Create []Creation
	// Status is to be stored before any finalizer goes; nil when nothing
	// changes.
	Status *batchv1.JobStatus
	// Strip are the pods whose finalizer is to be removed, only once Status is
	// stored.
	Strip []*corev1.Pod
	// Left is the work that the caps leave for the next look.
	Left Left
	// Backoff is the record once Status is stored.
	Backoff backoff.Record
	// Requeue says to look again no later than this; 0 when only a change to
	// the Job or its pods is worth a look.
	Requeue time.Duration
	// Events are what to tell the user once Status is stored. A Machine adds those of
	// creations and deletions.
	Events []Event
	// Metrics are the counters to add to once Status is stored.
	Metrics []Metric
	// Action is the label action of job_syncs_total, whose other labels are the
	// caller's to give: reconciling, tracking, pods_created or pods_deleted. It is
	// empty where the Job controller counts no sync: the Job has ended, or is not
	// to be seen as it is.
	Action string

	outcome *decide.Outcome
}

// Left is the work that MaxChanges, MaxUncounted and MaxRemovals leave for the next
// look, in pods: those to create, those to delete because they are too many, and those
// to count or to free of their finalizer.
type Left struct{ Create, Delete, Strip int }

func newDecision(o *decide.Outcome) Decision {
	work := &o.Plan.Work
	d := Decision{
		Claim: convert(o.Claims, func(c decide.Claim) Claim { return Claim{c.Pod, c.Relation} }),
		Delete: convert(work.Delete, func(d decide.Deletion) Deletion {
			return Deletion{d.Record.Pod, d.StripFirst, string(d.Cause)}
		}),
		Create:  convert(work.Create, func(c decide.Creation) Creation { return Creation{c.Index, c.Replaces, c} }),
		Strip:   slices.Clone(o.Strip),
		Left:    Left(o.Left),
		Backoff: o.Backoff,
		Requeue: o.Requeue,
		Events:  convert(o.Events, newEvent),
		Metrics: convert(o.Metrics, newMetric),
		Action:  work.Action,
		outcome: o,
	}
	if o.Changed && !o.PutOff {
		d.Status = o.Status.DeepCopy()
	}
	return d
}

func newEvent(e decide.Event) Event { return Event(e) }

func newMetric(m decide.Metric) Metric {
	labels := make(map[string]string, len(m.Labels))
	for _, l := range m.Labels {
		labels[l.Name] = l.Value
	}
	return Metric{m.Name, labels, m.Add}
}

// convert returns the results of f for a list; nil for an empty one.
func convert[A, B any](list []A, f func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = f(list[i])
	}
	return out
}

// Idle reports whether the decision asks for nothing.
func (d Decision) Idle() bool {
	return len(d.Claim)+len(d.Delete)+len(d.Create)+len(d.Strip) == 0 && d.Status == nil
}

// Basis returns what the decision was made of, for the package explain; nil for the
// zero Decision.
func (d Decision) Basis() *decide.Outcome { return d.outcome }
