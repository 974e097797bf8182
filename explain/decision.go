package explain

import (
	"iter"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/indexset"
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

	facts     *jobfate.Facts
	records   []*record
	otherPods []*corev1.Pod
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
type record = tracking.PodRecord

// decisionOf reads a decision; nil for the zero Decision.
func decisionOf(of jobfate.Decision) *decision {
	f := of.Facts()
	if f == nil {
		return nil
	}
	pods, others := f.Pods(), f.Others()
	d := &decision{
		job: f.Job, now: f.Now, keys: f.Keys,
		spec: spec{
			parallelism: f.Parallelism, completions: f.Completions, suspended: f.Suspended,
			indexed: f.Indexed, perIndex: f.PerIndex(), limit: f.Limit.PerJob, limitPerIndex: f.Limit.PerIndex,
			countRestarts: f.CountRestarts, replaceFailedOnly: f.ReplaceFailedOnly,
			successPolicy: f.HasSuccessPolicy(), fillFreeSlots: f.FillFreeSlots,
		},
		active: f.Active, terminating: f.Terminating, counted: f.Unrecorded,
		known: len(pods), others: len(others), restarts: f.Restarts,
		succeeded: f.Succeeded, failed: f.Failed, completed: f.Completed, failedIndexes: f.FailedIndexes,
		unseenStatus: f.InFlight.Status, unseenCreations: int32(f.InFlight.Creations),
		unseenDeletions: int32(f.InFlight.Deletions),
		observed:        f.InFlight.Creations <= 0 && f.InFlight.Deletions <= 0,
		wait:            f.Wait, want: f.Want, activeAfter: f.ActiveAfter, terminatingAfter: f.TerminatingAfter,
		later: of.Deferred, status: f.Status, putOff: f.PutOff, deadline: f.Deadline, timed: f.Timed,
		failures: f.Record.Failures, lastFailure: f.Record.LastFailure,
		facts: f, records: pods, otherPods: others,
	}
	if e := f.Ending; e != nil {
		d.end = end{true, e.Type == batchv1.JobSuccessCriteriaMet, f.EndStored, f.EndSettled, e.Reason, e.Message}
	}
	for _, text := range f.StatusRepairs {
		d.defects = append(d.defects, Reason{Code: NoteStatusRepaired, Text: text})
	}
	if f.RecordDropped {
		d.defects = append(d.defects, Reason{Code: NoteMemoryDropped,
			Text: "the backoff record belongs to an earlier Job of this name"})
	}
	d.deletes, d.creates = make([]deletion, len(of.Delete)), make([]int32, len(of.Create))
	for i, gone := range of.Delete {
		d.deletes[i] = deletion{gone.Pod, gone.Cause}
	}
	for i, made := range of.Create {
		d.creates[i] = made.Index
	}
	return d
}

// pods returns the pods of the Job, in no order.
func (d *decision) pods() iter.Seq[*record] { return slices.Values(d.records) }

// inOrder returns the pods of the Job by index and UID.
func (d *decision) inOrder() []*record { return d.records }

// activeInOrder returns the active pods of the Job by index and UID.
func (d *decision) activeInOrder() (active []*record) {
	for _, r := range d.records {
		if r.Active {
			active = append(active, r)
		}
	}
	return active
}

// given returns all pods of the snapshot, including those of other owners.
func (d *decision) given() []*corev1.Pod {
	pods := slices.Clone(d.otherPods)
	for _, r := range d.records {
		pods = append(pods, r.Pod)
	}
	return pods
}

// predecessor returns the failed pod that the next pod of the index replaces; nil if there is none.
func (d *decision) predecessor(index int32) *record { return d.facts.Predecessor(index) }

// indexDelay returns how long the next pod of the index must still wait.
func (d *decision) indexDelay(index int32) time.Duration { return d.facts.DelayOf(index) }

// delay returns the delay after so many failures.
func (d *decision) delay(failures int32) time.Duration {
	return d.facts.Delays.Delay(failures)
}

// meets returns the first rule of the success policy that holds once these indexes are completed;
// negative if there is none.
func (d *decision) meets(completed indexset.Set) int {
	return d.facts.SuccessRule(completed)
}
