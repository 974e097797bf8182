package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Facts holds what a decision was made from, and what it expects once it is carried out. Package
// explain reads nothing else of a decision. The caller must not change what they point to.
type Facts struct {
	Job      *batchv1.Job
	Now      time.Time
	InFlight InFlight
	Spec     SpecFacts
	Progress ProgressFacts
	Repairs  RepairFacts
	Plan     PlanFacts
	End      EndFacts
	// Status is the status that the decision leads to.
	Status *batchv1.JobStatus

	state *state
}

// SpecFacts is what the spec and the options say together.
type SpecFacts struct {
	// Keys holds the keys of the Job's pods, without empty names.
	Keys tracking.Keys
	// Completions has the default of the API server. It is nil for a work queue.
	Completions *int32
	Limit       backoff.Limit
	// Delays is the policy of the delays after failures.
	Delays backoff.Policy
	// ReplaceFailedOnly says that a pod is replaced only once it has failed, FillFreeSlots that the option of
	// this name is set.
	ReplaceFailedOnly, FillFreeSlots bool
}

// ProgressFacts says how far the Job is before the decision is carried out.
type ProgressFacts struct {
	// Active and Terminating are the numbers of such pods.
	Active, Terminating int32
	// Succeeded and Failed are the counters of the status plus the pods that are not recorded yet. Succeeded is
	// the number of completed indexes in an Indexed Job. Completed and FailedIndexes list its indexes.
	Succeeded, Failed        int32
	Completed, FailedIndexes indexset.Set
	// Restarts is the number of container restarts, if they count.
	Restarts int64
	// UntilLost is the time until the next pod on a lost node counts as failed (FailLostPods); 0 if none will.
	UntilLost time.Duration
}

// RepairFacts says what of the input was damaged: parts of the status, and with RecordDropped, the backoff
// record, which belongs to another Job.
type RepairFacts struct {
	Status        []string
	RecordDropped bool
}

// PlanFacts is what the decision plans. Without a plan, if the Job has ended or its last status write is not
// observed yet, only the numbers of pods are set.
type PlanFacts struct {
	// Record is the backoff record with the failures that are not recorded yet.
	Record backoff.Record
	// Want is the number of active pods that the Job needs, Wait the time until a pod that backs off may be
	// created.
	Want int32
	Wait time.Duration
	// Deadline is when the Job fails by its deadline; zero if it does not, or does for another reason.
	Deadline time.Time
	// PutOff says that the status is not stored now, because of the option Throttle.
	PutOff bool
	// Active and Terminating are the numbers of pods once the decision is carried out.
	Active, Terminating int32
}

// EndFacts says how the Job ends; it is zero while the Job does not.
type EndFacts struct {
	// Condition is the interim condition, with its reason and message.
	Condition batchv1.JobCondition
	// Settled is false while pods may exist that are not counted.
	Settled bool
}

// Facts returns what the decision was made from; nil for the zero Decision. The Facts of a
// Machine's decision are valid until its next Begin, which changes the pods.
func (d Decision) Facts() *Facts {
	if d.made == nil {
		return nil
	}
	o, s := d.made, d.made.state
	spec, pods, status := &s.spec, s.census, &s.Job.Status
	if o.planned() {
		status = &o.status
	}
	return &Facts{
		Job: s.Job, Now: s.Now, InFlight: s.InFlight, Status: status, state: s,
		Spec: SpecFacts{
			Keys: *spec.Keys(), Completions: spec.Completions, Limit: spec.Limit,
			Delays: s.config.Backoff, ReplaceFailedOnly: spec.ReplaceFailedOnly, FillFreeSlots: s.config.FillFreeSlots,
		},
		Progress: ProgressFacts{
			Active: pods.Active, Terminating: pods.Terminating, Succeeded: s.succeeded, Failed: s.failed,
			Completed: pods.Results.Completed, FailedIndexes: pods.Results.Failed,
			Restarts: pods.Restarts, UntilLost: pods.UntilLost,
		},
		Repairs: RepairFacts{s.stored.repairs, s.recordDropped()},
		Plan: PlanFacts{
			Record: o.plan.record, Want: o.plan.work.want, Wait: o.plan.work.wait, Deadline: o.plan.deadline(s.Now),
			PutOff: o.wait > 0, Active: o.after.Active, Terminating: o.after.Terminating,
		},
		End: EndFacts{o.interimCondition(), o.end.Ended()},
	}
}

// deadline is when the Job fails by its deadline; zero if it does not.
func (p *plan) deadline(now time.Time) time.Time {
	if left := p.timer(); left > 0 {
		return now.Add(left)
	}
	return time.Time{}
}

// interimCondition is the interim condition of the end; zero while the Job does not end.
func (o *outcome) interimCondition() batchv1.JobCondition {
	e := o.ending()
	if !e.Ended() {
		return batchv1.JobCondition{}
	}
	return batchv1.JobCondition{Type: e.Interim, Status: corev1.ConditionTrue, Reason: e.Reason, Message: e.Message}
}

// Indexed reports whether the Job is Indexed.
func (f *Facts) Indexed() bool { return f.state.spec.Indexed }

// EndStored reports whether the status of the Job has the condition of its end.
func (f *Facts) EndStored() bool {
	end := f.End.Condition.Type
	return end != "" && jobstatus.True(f.Job.Status.Conditions, end) != nil
}

// Pods returns the pods of the Job, ordered by index and UID.
func (f *Facts) Pods() []*PodFacts {
	all := f.state.census.AllInOrder()
	facts, pods := make([]PodFacts, len(all)), make([]*PodFacts, len(all))
	for i, r := range all {
		facts[i] = podFacts(&r.PodRecord)
		pods[i] = &facts[i]
	}
	return pods
}

// Pod returns the pod of the Job with a UID; nil if there is none.
func (f *Facts) Pod(uid types.UID) *PodFacts {
	if r := f.state.census.Of(uid); r != nil && r.Relation.Own() {
		return new(podFacts(&r.PodRecord))
	}
	return nil
}

// Others returns the pods of other owners in the snapshot, ordered by name.
func (f *Facts) Others() []*corev1.Pod { return f.state.census.Others() }

// PerIndex reports whether the Job has a backoff limit per index.
func (f *Facts) PerIndex() bool { return f.state.spec.PerIndex() }

// Predecessor returns the failed pod that the next pod of an index replaces; nil if there is none.
func (f *Facts) Predecessor(index int32) *PodFacts {
	if r := f.state.census.Predecessor(index); r != nil {
		return new(podFacts(&r.PodRecord))
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
