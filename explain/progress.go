package explain

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/jobfate/jobfate/jobstatus"
)

// What a Job waits for.
const (
	// WaitOwnWrite: for the last status write to be observed.
	WaitOwnWrite Code = "OwnWrite"
	// WaitPodsObserved: for creations and deletions of pods to be observed.
	WaitPodsObserved Code = "PodsToBeObserved"
	// WaitPodsFinish: for active pods to finish.
	WaitPodsFinish Code = "PodsToFinish"
	// WaitTermination: for pods that are being deleted to terminate.
	WaitTermination Code = "PodsToTerminate"
	// WaitBackoff: for a backoff delay to end.
	WaitBackoff Code = "Backoff"
	// WaitResume: for a user to resume the Job.
	WaitResume Code = "Resume"
	// WaitParallelism: for a user to raise the parallelism above 0.
	WaitParallelism Code = "Parallelism"
	// WaitDeletion: for the Job to be deleted.
	WaitDeletion Code = "Deletion"
	// WaitDeadline: for the Job's deadline, at which it fails.
	WaitDeadline Code = "Deadline"
)

// Waits returns what the Job waits for once the decision is carried out. Until is the time
// at which the wait ends by itself or is due to end. A Job that has ended waits for
// nothing.
func (e Explanation) Waits() []Reason {
	o := e.about
	if o.Outcome == nil || jobstatus.Finished(o.View.Job) != nil {
		return nil
	}
	spec, writes, goesOn := &o.View.Spec, &o.View.InFlight, o.goesOn()
	due := o.terminationDue()
	late := "by"
	if due.Before(o.View.Now) {
		late = "since"
	}
	return thatApply(
		when(writes.Status, WaitOwnWrite, "the last status write to be observed"),
		when(writes.Creations > 0 || writes.Deletions > 0, WaitPodsObserved, o.unobserved()+" to be observed"),
		when(o.View.Job.DeletionTimestamp != nil, WaitDeletion, "the Job to be deleted"),
		when(goesOn && spec.Suspended, WaitResume, "a user to resume the Job"),
		when(goesOn && !spec.Suspended && spec.Parallelism == 0, WaitParallelism, "a user to raise the parallelism above 0"),
		when(o.After.Active > 0, WaitPodsFinish, count(o.After.Active, "pod")+" to finish"),
		when(o.After.Terminating > 0, WaitTermination, count(o.After.Terminating, "pod")+" to terminate"+
			textIf(!due.IsZero(), ", due "+late+" "+o.clock(due))).until(due),
		when(o.Plan.Work.Wait > 0, WaitBackoff, "the backoff to end at "+o.clock(o.retry())).until(o.retry()),
		when(goesOn && o.Plan.Timer() > 0, WaitDeadline, "its deadline at "+o.clock(o.FailsAt())+", when it fails").until(o.FailsAt()),
	)
}

// terminationDue returns when the last terminating pod is due; zero if that is not known. A
// pod that the decision deletes has no due time until it is deleted.
func (o outcome) terminationDue() (due time.Time) {
	if len(o.Plan.Work.Delete) > 0 {
		return due
	}
	for r := range o.View.Census.All() {
		if r.Terminating {
			due = latest(due, r.Pod.DeletionTimestamp.Time)
		}
	}
	return due
}

// Whether a Job can still succeed.
const (
	// ProspectSuccess: the Job has succeeded, or it is decided that it will.
	ProspectSuccess Code = "Success"
	// ProspectPossible: the Job can succeed.
	ProspectPossible Code = "Possible"
	// ProspectOutOfReach: nothing is decided yet, but the Job can only fail.
	ProspectOutOfReach Code = "OutOfReach"
	// ProspectFailure: the Job has failed, or it is decided that it will.
	ProspectFailure Code = "Failure"
)

// Prospect says whether the Job can still succeed, and what is needed for that. Until is
// the deadline of the Job, if it has one.
func (e Explanation) Prospect() Reason {
	o := e.about
	if o.Outcome == nil {
		return Reason{}
	}
	spec, totals, completions := &o.View.Spec, &o.View.Totals, int32(1) // a Job without completions needs one success
	if spec.Completions != nil {
		completions = *spec.Completions
	}
	phase, end, need := jobstatus.OutcomeOf(o.View.Job).Phase, o.Ending(), max(0, completions-totals.Succeeded)
	// A failed index keeps the Job from being complete (KEP-3850), but its success policy
	// can still be met: rule is the first that the other indexes can satisfy.
	rule := spec.SuccessPolicy.Match(totals.Results.Failed.Complement(completions))
	first, failed := totals.Results.Failed.Min()
	haveFailed := fmt.Sprintf("index %d has failed", first)
	if n := totals.Results.Failed.Len(); n > 1 {
		haveFailed = fmt.Sprintf("%d indexes have failed, the first is %d", n, first)
	}
	r := cmp.Or(
		when(phase == jobstatus.Complete, ProspectSuccess, "yes, the Job has succeeded"),
		when(phase == jobstatus.Failed, ProspectFailure, "no, the Job has failed"),
		when(end.Succeeds() || !end.Ended() && phase == jobstatus.Succeeding, ProspectSuccess, "yes, it is decided that the Job succeeds"),
		when(end.Ended() || phase == jobstatus.Failing, ProspectFailure, "no, it is decided that the Job fails"),
		when(failed && rule < 0, ProspectOutOfReach, "no: "+haveFailed+"; the Job fails when no other index is left to run"),
		when(o.View.Job.DeletionTimestamp != nil && need > o.View.Census.Active, ProspectOutOfReach,
			fmt.Sprintf("no: the Job is being deleted, and %s cannot reach the %d successes that are still needed", count(o.View.Census.Active, "pod"), need)),
		when(spec.Completions == nil && need > 0, ProspectPossible, "yes: one pod must succeed, and all must finish"),
		when(spec.Completions == nil, ProspectPossible, "yes: a pod has succeeded, the others must finish"),
		when(failed, ProspectPossible, fmt.Sprintf("yes: %s, but rule %d of the success policy can still be met", haveFailed, rule)),
		when(spec.Indexed, ProspectPossible, fmt.Sprintf("yes: %d of %d indexes to go", need, completions)+
			textIf(spec.SuccessPolicy != nil, ", or fewer by the success policy")),
		when(true, ProspectPossible, fmt.Sprintf("yes: %d of %s to go", need, count(completions, "pod"))),
	)
	if r.Code == ProspectPossible {
		r.Until, r.Text = o.FailsAt(), r.Text+o.conditions()
	}
	return r
}

// conditions says on what conditions the Job succeeds.
func (o outcome) conditions() string {
	spec, limit, failed, failsAt := &o.View.Spec, o.View.Spec.Limit.PerJob, o.View.Totals.Failed, o.FailsAt()
	limited := limit < math.MaxInt32
	return cmp.Or(
		textIf(o.View.Job.DeletionTimestamp != nil, "; only with the pods it has, because it is being deleted"),
		textIf(spec.Suspended, "; once it is resumed"),
		textIf(spec.Parallelism == 0, "; once its parallelism is above 0"),
	) +
		textIf(spec.PerIndex, "; at most "+count(spec.Limit.PerIndex, "failure")+" per index") +
		textIf(limited, fmt.Sprintf("; at most %s, %d so far", count(limit, "failure"), failed)) +
		textIf(limited && spec.CountRestarts, fmt.Sprintf(", or as many container restarts, %d so far", o.View.Census.Restarts)) +
		textIf(!limited && !spec.PerIndex, fmt.Sprintf("; no limit on failures, %d so far", failed)) +
		textIf(!failsAt.IsZero(), "; before the deadline at "+o.clock(failsAt))
}

// Totals are the numbers of indexes of an Indexed Job by their state, each index counted
// once. For another Job they count pods, including pods that it still needs.
type Totals struct {
	// Done: succeeded.
	Done int
	// Running: active and not stuck.
	Running int
	// Stuck: active, but unable to start or finish.
	Stuck int
	// Terminating: being deleted, and replaced only after termination or not at all.
	Terminating int
	// BackingOff: without a pod until a delay ends.
	BackingOff int
	// Pending: without a pod, which is created now or when a slot is free.
	Pending int
	// Failed: failed indexes, or failed pods.
	Failed int
	// Stopped: neither done nor failed, and without a pod because the Job ends or has ended.
	Stopped int
}

// String returns the totals as a line, without those that are 0: "done 3400 · running 1900
// · stuck 78 · backing off 13 · failed 2".
func (t Totals) String() string {
	part := func(name string, n int) string { return textIf(n > 0, fmt.Sprintf(" · %s %d", name, n)) }
	return fmt.Sprintf("done %d", t.Done) + part("running", t.Running) + part("stuck", t.Stuck) +
		part("terminating", t.Terminating) + part("backing off", t.BackingOff) + part("pending", t.Pending) +
		part("failed", t.Failed) + part("stopped", t.Stopped)
}

// Totals returns the totals before the decision is carried out.
func (e Explanation) Totals() Totals {
	o := e.about
	if o.Outcome == nil {
		return Totals{}
	}
	spec, pods, work, done := &o.View.Spec, o.View.Census, &o.Plan.Work, int(o.View.Totals.Succeeded)
	waiting := 0 // missing pods that wait for the backoff of the Job
	if work.Wait > 0 && !spec.PerIndex {
		waiting = int(work.Want - pods.Active)
		if spec.ReplaceFailedOnly {
			waiting -= int(pods.Terminating)
		}
	}
	n := map[Code]int{}
	for _, s := range e.unfinished(false) {
		n[s.Code] += s.Indexes.Len()
	}
	if !spec.Indexed {
		f, lacking, code := newFacts(e), len(work.Create)+waiting, IndexPending
		if spec.Completions != nil {
			lacking = max(0, int(*spec.Completions)-done-int(pods.Active))
		}
		if !o.goesOn() {
			code = IndexStopped
		}
		n = map[Code]int{code: lacking, IndexTerminating: int(pods.Terminating), IndexFailed: int(o.View.Totals.Failed)}
		for code, pods := range f.symptoms() {
			if rowOf(code).attention == AttentionStuck {
				n[IndexStuck] += len(pods)
			}
		}
		n[IndexActive] = int(pods.Active) - n[IndexStuck]
	}
	waiting = min(waiting, n[IndexPending])
	return Totals{
		Done:        done,
		Running:     n[IndexActive],
		Stuck:       n[IndexStuck],
		Terminating: n[IndexRemoving] + n[IndexTerminating],
		BackingOff:  n[IndexBackingOff] + waiting,
		Pending:     n[IndexCreating] + n[IndexPending] - waiting,
		Failed:      n[IndexFailed],
		Stopped:     n[IndexStopped],
	}
}
