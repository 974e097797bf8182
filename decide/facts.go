package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/tracking"
)

// Facts holds what a decision was made from, and what it expects once it is carried out. Package
// explain reads nothing else of a decision. The caller must not change what they point to.
type Facts struct {
	Job *batchv1.Job
	Now time.Time
	// Keys holds the keys of the Job's pods, without empty names.
	Keys     tracking.Keys
	InFlight InFlight

	// The spec, with the defaults of the API server and the options applied. Completions is nil
	// for a work queue.
	Parallelism        int32
	Completions        *int32
	Indexed, Suspended bool
	Limit              backoff.Limit
	// ReplaceFailedOnly says that a pod is replaced only once it has failed, CountRestarts that
	// restarts of containers count, FillFreeSlots that the option of this name is set.
	ReplaceFailedOnly, CountRestarts, FillFreeSlots bool
	// Delays is the policy of the delays after failures.
	Delays backoff.Policy

	// Active and Terminating are the numbers of such pods, Unrecorded is the number of succeeded
	// pods that the status does not count yet, and Restarts the number of container restarts, if
	// they count.
	Active, Terminating, Unrecorded int32
	Restarts                        int64
	// UntilLost is the time until the next pod on a lost node counts as failed (FailLostPods); 0 if
	// none will.
	UntilLost time.Duration
	// Succeeded and Failed are the counters of the status plus the pods that are not recorded yet. Succeeded is the
	// number of completed indexes in an Indexed Job. Completed and FailedIndexes list its indexes.
	Succeeded, Failed        int32
	Completed, FailedIndexes indexset.Set

	// Record is the backoff record with the failures that are not recorded yet.
	Record backoff.Record
	// StatusRepairs says what was damaged in the status. RecordDropped says that the record in
	// the snapshot belongs to another Job.
	StatusRepairs []string
	RecordDropped bool

	// Planned says that there is a plan: the Job has not ended, and its last status write is
	// observed. Otherwise all following fields except Status are zero.
	Planned bool
	// Want is the number of active pods that the Job needs, Wait the time until a pod that backs
	// off may be created.
	Want int32
	Wait time.Duration
	// Deadline is the deadline of the Job, zero without one. Timed says that it can still end the
	// Job.
	Deadline time.Time
	Timed    bool
	// Ending is the interim condition with which the Job ends, with its reason and message; zero
	// while it does not end. EndStored says that the status has that condition. EndSettled is
	// false while pods may exist that are not counted.
	Ending                batchv1.JobCondition
	EndStored, EndSettled bool
	// Status is the status that the decision leads to. PutOff says that it is not stored now,
	// because of the option Throttle.
	Status *batchv1.JobStatus
	PutOff bool
	// ActiveAfter and TerminatingAfter are the numbers of pods once the decision is carried out.
	ActiveAfter, TerminatingAfter int32

	state *state
}

// Facts returns what the decision was made from; nil for the zero Decision. The Facts of a
// Machine's decision are valid until its next Begin, which changes the pods.
func (d Decision) Facts() *Facts {
	if d.made == nil {
		return nil
	}
	o, s := d.made, d.made.state
	plan, pods, spec := &o.plan, s.census, &s.spec
	f := &Facts{
		Job: s.Job, Now: s.Now, Keys: s.spec.Keys(), InFlight: s.InFlight,
		Parallelism: spec.Parallelism, Completions: spec.Completions, Indexed: spec.Indexed,
		Suspended: spec.Suspended, Limit: spec.Limit, ReplaceFailedOnly: spec.ReplaceFailedOnly,
		CountRestarts: spec.CountRestarts, FillFreeSlots: s.config.FillFreeSlots, Delays: s.config.Backoff,
		Active: pods.Active, Terminating: pods.Terminating, Unrecorded: pods.Succeeded,
		Restarts: pods.Restarts, UntilLost: pods.UntilLost,
		Succeeded: s.succeeded, Failed: s.failed,
		Completed: s.census.Results.Completed, FailedIndexes: s.census.Results.Failed,
		Record: plan.record, StatusRepairs: s.stored.repairs, RecordDropped: s.recordDropped(),
		Planned: o.planned(), Want: plan.work.want, Wait: plan.work.wait, Timed: plan.timer() > 0,
		Status: &s.Job.Status, PutOff: o.wait > 0, EndSettled: o.end.Ended(),
		ActiveAfter: o.after.Active, TerminatingAfter: o.after.Terminating,
		state: s,
	}
	if f.Planned {
		f.Status = &o.status
	}
	if plan.limited {
		f.Deadline = s.Now.Add(plan.remaining)
	}
	if e := o.ending(); e.Ended() {
		f.EndStored = e.Decided
		f.Ending = batchv1.JobCondition{Type: e.Interim, Status: corev1.ConditionTrue, Reason: e.Reason,
			Message: e.Message}
	}
	return f
}

// Pods returns the pods of the Job, ordered by index and UID.
func (f *Facts) Pods() []*tracking.PodRecord {
	all := f.state.census.AllInOrder()
	pods := make([]*tracking.PodRecord, len(all))
	for i, r := range all {
		pods[i] = &r.PodRecord
	}
	return pods
}

// Pod returns the pod of the Job with a UID; nil if there is none.
func (f *Facts) Pod(uid types.UID) *tracking.PodRecord {
	if r := f.state.census.Of(uid); r != nil && r.Relation.Own() {
		return &r.PodRecord
	}
	return nil
}

// Others returns the pods of other owners in the snapshot, ordered by name.
func (f *Facts) Others() []*corev1.Pod { return f.state.census.Others() }

// PerIndex reports whether the Job has a backoff limit per index.
func (f *Facts) PerIndex() bool { return f.state.spec.PerIndex() }

// Predecessor returns the failed pod that the next pod of an index replaces; nil if there is none.
func (f *Facts) Predecessor(index int32) *tracking.PodRecord {
	if r := f.state.census.Predecessor(index); r != nil {
		return &r.PodRecord
	}
	return nil
}

// DelayOf returns how long an index must wait for its next pod.
func (f *Facts) DelayOf(index int32) time.Duration {
	return f.state.delayAfter(f.state.census.Predecessor(index))
}

// SuccessRule returns the first rule of the success policy that completed indexes meet; negative if
// they meet none.
func (f *Facts) SuccessRule(completed indexset.Set) int {
	return f.state.spec.SuccessPolicy.Match(completed)
}
