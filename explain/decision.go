package explain

import (
	"iter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/tracking"
)

// decision holds what this package reads of a decision. Only this file knows where a decision
// keeps it.
type decision struct {
	job  *batchv1.Job
	now  time.Time
	spec spec
	keys tracking.Keys
	// defects are notes about what was damaged in the status.
	defects []Reason

	// The pods of the Job by state. known is the number of all of them, others the number of pods of
	// other owners, restarts that of the restarts of containers.
	active, terminating, counted int32
	known, others                int
	restarts                     int64
	// What the status and the uncounted pods say together. completed and failedIndexes are those of
	// an Indexed Job.
	succeeded, failed        int32
	completed, failedIndexes indexset.Set

	// The writes that are not observed yet.
	unseenStatus                     bool
	unseenCreations, unseenDeletions int32
	observed                         bool // every creation and deletion is observed

	// The plan, and what is left once it is carried out.
	deletes                       []deletion
	creates                       []int32 // the index of each pod to create
	wait                          time.Duration
	want                          int32 // the number of active pods to reach
	activeAfter, terminatingAfter int32
	later                         jobfate.Deferred
	status                        *batchv1.JobStatus // after the decision
	putOff                        bool
	end                           end
	deadline                      time.Time // zero without one
	timed                         bool      // the deadline can still end the Job

	// Delays: failures is the number of failures in a row, the last of which was at lastFailure.
	failures    int32
	lastFailure time.Time

	o *decide.Outcome // for the pods
}

// spec holds the spec of the Job with its defaults.
type spec struct {
	parallelism       int32
	completions       *int32
	suspended         bool
	indexed, perIndex bool
	// limit is the backoff limit of the Job, limitPerIndex that of an index.
	limit, limitPerIndex int32
	countRestarts        bool
	replaceFailedOnly    bool
	successPolicy        bool
	fillFreeSlots        bool
}

// end is how the Job ends.
type end struct {
	ends, succeeds  bool
	decided         bool // the status has the interim condition
	final           bool // it holds although pods may not be counted yet
	reason, message string
}

// deletion is a pod to delete, and why.
type deletion struct {
	pod   *corev1.Pod
	cause string
}

// record says how a pod of the Job counts.
type record = census.Record

// decisionOf reads a decision; nil for the zero Decision.
func decisionOf(of jobfate.Decision) *decision {
	o := inside.OutcomeOf(of)
	if o == nil {
		return nil
	}
	v, plan, pods := o.View, &o.Plan, o.View.Census
	d := &decision{
		job: v.Job, now: v.Now, keys: v.Keys(),
		spec: spec{
			parallelism: v.Spec.Parallelism, completions: v.Spec.Completions, suspended: v.Spec.Suspended,
			indexed: v.Spec.Indexed, perIndex: v.Spec.PerIndex(), limit: v.Spec.Limit.PerJob,
			limitPerIndex: v.Spec.Limit.PerIndex, countRestarts: v.Spec.CountRestarts,
			replaceFailedOnly: v.Spec.ReplaceFailedOnly, successPolicy: v.Spec.SuccessPolicy != nil,
			fillFreeSlots: v.Config.FillFreeSlots,
		},
		active: pods.Active, terminating: pods.Terminating, counted: pods.Succeeded,
		known: pods.Len(), others: int(pods.Foreign), restarts: pods.Restarts,
		succeeded: v.Totals.Succeeded, failed: v.Totals.Failed,
		completed: v.Totals.Results.Completed, failedIndexes: v.Totals.Results.Failed,
		unseenStatus: v.InFlight.Status, unseenCreations: int32(v.InFlight.Creations),
		unseenDeletions: int32(v.InFlight.Deletions), observed: plan.Settled,
		wait: plan.Work.Wait, want: plan.Work.Want,
		activeAfter: o.After.Active, terminatingAfter: o.After.Terminating, later: jobfate.Deferred(o.Deferred),
		status: either(o.Planned(), &o.Status, &v.Job.Status), putOff: o.PutOff,
		deadline: o.FailsAt(), timed: plan.Timer() > 0,
		failures: plan.Record.Failures, lastFailure: plan.Record.LastFailure,
		o: o,
	}
	e := o.Ending()
	d.end = end{e.Ended(), e.Succeeds(), e.Decided, o.End.Ended(), e.Reason, e.Message}
	for _, n := range v.Status.Notes {
		d.defects = append(d.defects, Reason{Code: Code(n.Code), Text: n.Text})
	}
	d.deletes, d.creates = make([]deletion, len(plan.Work.Delete)), make([]int32, len(plan.Work.Create))
	for i, gone := range plan.Work.Delete {
		d.deletes[i] = deletion{gone.Record.Pod, string(gone.Cause)}
	}
	for i, made := range plan.Work.Create {
		d.creates[i] = made.Index
	}
	return d
}

// pods returns the pods of the Job, in no order.
func (d *decision) pods() iter.Seq[*record] { return d.o.View.Census.All() }

// inOrder returns the pods of the Job by index and UID.
func (d *decision) inOrder() []*record { return d.o.View.Census.AllInOrder() }

// activeInOrder returns the active pods of the Job by index and UID.
func (d *decision) activeInOrder() []*record { return d.o.View.Census.ActiveInOrder() }

// given returns all pods of the snapshot, including those of other owners.
func (d *decision) given() []*corev1.Pod { return d.o.View.Census.Pods() }

// predecessor returns the failed pod that the next pod of the index replaces; nil if there is none.
func (d *decision) predecessor(index int32) *record { return d.o.View.Census.Predecessor(index) }

// indexDelay returns how long the next pod of the index must still wait.
func (d *decision) indexDelay(index int32) time.Duration { return d.o.View.IndexDelay(index) }

// delay returns the delay after so many failures.
func (d *decision) delay(failures int32) time.Duration {
	return d.o.View.Config.Backoff.Delay(failures)
}

// meets returns the first rule of the success policy that holds once these indexes are completed;
// negative if there is none.
func (d *decision) meets(completed indexset.Set) int {
	return d.o.View.Spec.SuccessPolicy.Match(completed)
}

// The codes of the notes that a decision makes.
const (
	noteStatusRepaired = decide.NoteStatusRepaired
	noteMemoryDropped  = decide.NoteMemoryDropped
)
