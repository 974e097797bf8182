package jobfate

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// Decision is what to do for a Job, and what holds once all of it has
// succeeded. The protocol of the package says in which order to act.
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
	// Backoff is to be remembered once Status is stored; at once without a Status.
	Backoff backoff.Record
	// Requeue says to look again no later than this; 0 when only a change to
	// the Job or its pods is worth a look.
	Requeue time.Duration
	// Events are what to tell the user once Status is stored, if it is set. Creations
	// and deletions have events of their own.
	Events []Event
	// Metrics are the counters to add to once Status is stored, if it is set.
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
	v, work := o.View, &o.Plan.Work
	d := Decision{
		Claim: convert(o.Claims, func(c decide.Claim) Claim { return Claim{c.Pod, c.Relation, v} }),
		Delete: convert(work.Delete, func(d decide.Deletion) Deletion {
			return Deletion{d.Record.Pod, d.StripFirst, Cause(d.Cause), v.Config.Controller.Keys}
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

func newEvent(e decide.Event) Event { return Event{EventType(e.Type), e.Reason, e.Message} }

func newMetric(m decide.Metric) Metric {
	return Metric{m.Name, convert(m.Labels, func(l decide.Label) Label { return Label(l) }), m.Add}
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

// StatusPatch returns Status as a JSON merge patch for the Job's status
// subresource, with the UID and the given resource version; nil when there is
// no status to store.
func (d Decision) StatusPatch(resourceVersion string) []byte {
	if d.Status == nil {
		return nil
	}
	return jobstatus.Patch(d.uid(), resourceVersion, d.Status)
}

// Idle reports whether the decision asks for nothing.
func (d Decision) Idle() bool {
	return len(d.Claim)+len(d.Delete)+len(d.Create)+len(d.Strip) == 0 && d.Status == nil
}

// Basis returns what the decision was made of, for the package explain; nil for the
// zero Decision.
func (d Decision) Basis() *decide.Outcome { return d.outcome }

// uid is that of the Job; empty for the zero Decision.
func (d Decision) uid() types.UID {
	if d.outcome == nil {
		return ""
	}
	return d.outcome.View.Job.UID
}

// Done says what became of a decision's creations and deletions.
type Done struct {
	// NotCreated is the number of Create that were not created, because they
	// failed or were not tried.
	NotCreated int
	// Untried is how many of those were not tried.
	Untried int
	// NotDeleted are the pods of Delete that are still there: their deletion,
	// or the removal of their finalizer before it, failed. A pod that was gone
	// already has been deleted.
	NotDeleted []types.UID
}

// Revise returns the decision as it is when some creations or deletions have
// failed. The pods to create and delete stay listed as they were; what follows
// from them is worked out anew.
func (d Decision) Revise(done Done) Decision {
	if d.outcome == nil || !d.outcome.Planned() {
		return d
	}
	return newDecision(d.outcome.Close(decide.Done(done)))
}

// Settlement is what follows once finalizers are gone.
type Settlement struct {
	// Status is the status to store now; nil when nothing changes. It moves the
	// pods whose finalizer is gone from the lists to the counters, and ends the
	// Job when nothing is left.
	Status *batchv1.JobStatus
	// Finished says that Status has the terminal condition.
	Finished bool
	// Events and Metrics are to be told once Status is stored.
	Events  []Event
	Metrics []Metric

	uid types.UID
}

// StatusPatch returns Status as a JSON merge patch, like Decision.StatusPatch.
// The resource version is the one that storing the decision's status returned,
// or the snapshot's when there was none to store.
func (s Settlement) StatusPatch(resourceVersion string) []byte {
	if s.Status == nil {
		return nil
	}
	return jobstatus.Patch(s.uid, resourceVersion, s.Status)
}

// Settle returns what to store once the finalizers of the given pods are gone:
// of those in Strip that were removed, and of those that were gone already. To
// settle all of them, pass Strip. It is called only after Status is stored.
//
// As long as a finalizer of Strip is left the Job does not end.
func (d Decision) Settle(gone ...*corev1.Pod) Settlement {
	if d.outcome == nil {
		return Settlement{}
	}
	uids := make([]types.UID, 0, len(gone))
	for _, pod := range gone {
		if pod != nil {
			uids = append(uids, pod.UID)
		}
	}
	s := d.outcome.Settle(uids)
	return Settlement{
		Status:   s.Status,
		Finished: s.Finished,
		Events:   convert(s.Events, newEvent),
		Metrics:  convert(s.Metrics, newMetric),
		uid:      d.uid(),
	}
}
