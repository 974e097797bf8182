package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// Explanation explains a decision. It keeps a reference to the snapshot's pods, and
// computes details when they are requested.
type Explanation struct {
	facts *facts // nil for the zero Explanation
}

// Of returns the explanation of a decision. The explanation of the zero Decision is empty.
func Of(d decide.Decision) Explanation { return Explanation{newFacts(d)} }

// PodState is a state that keeps an active pod from running or finishing.
type PodState struct {
	// Code is IndexStuck, IndexWaiting or IndexStarting.
	Code Code
	// Cannot completes "pods …", and Why says more of this pod.
	Cannot, Why string
}

// With returns the explanation with the states of active pods, by their UID. A decision does not
// depend on them, so without With all active pods seem to run.
func (e Explanation) With(pods map[types.UID]PodState) Explanation {
	if e.facts == nil {
		return e
	}
	f := *e.facts
	f.podStates = pods
	return Explanation{&f}
}

// Reason is a reason with a code for programs and a text for people.
type Reason struct {
	Code Code
	// Until is when the state changes by the passing of time alone; zero if another event
	// must happen.
	Until time.Time
	// Text is for people. Its times are in UTC: 12:06:51Z, or with the date if it is not the
	// day of the decision.
	Text string
}

// Code names a reason.
type Code string

// when returns a reason that applies under a condition, and the zero Reason if it does not
// hold. So cmp.Or of such reasons is an ordered table: the first that applies is the result.
func when(holds bool, code Code, text string) Reason {
	return either(holds, Reason{Code: code, Text: text}, Reason{})
}

// until returns the reason with a time, unless it is zero.
func (r Reason) until(t time.Time) Reason {
	return either(r == Reason{}, r, Reason{r.Code, t, r.Text})
}

// thatApply returns the reasons that are not zero.
func thatApply(all ...Reason) []Reason {
	return append([]Reason(nil), slices.DeleteFunc(all, func(r Reason) bool { return r == Reason{} })...)
}

// Reasons for the state of a Job.
const (
	// JobFinished: the Job has ended.
	JobFinished Code = "Finished"
	// JobStale: the last status write is not observed yet.
	JobStale Code = "WaitingForOwnWrite"
	// JobEnding: the Job has an interim condition; pods must still terminate or be
	// counted.
	JobEnding Code = "Ending"
	// JobDeleting: the Job is being deleted and gets no more pods.
	JobDeleting Code = "Deleting"
	// JobInFlight: creations or deletions of pods are not observed yet.
	JobInFlight Code = "WaitingForPods"
	// JobSuspended: the Job is suspended.
	JobSuspended Code = "Suspended"
	// JobRemoving: active pods are deleted because they are surplus or misplaced.
	JobRemoving Code = "RemovingPods"
	// JobCreating: pods are created now.
	JobCreating Code = "CreatingPods"
	// JobBackingOff: failed pods are replaced after a delay.
	JobBackingOff Code = "BackingOff"
	// JobAwaitingTermination: pods that are being deleted are replaced only once
	// they have terminated.
	JobAwaitingTermination Code = "AwaitingTermination"
	// JobNoParallelism: the Job's parallelism is 0.
	JobNoParallelism Code = "NoParallelism"
	// JobRunning: the wanted number of pods is active.
	JobRunning Code = "Running"
)

// Job returns the reason for the state of the Job as a whole. It mainly answers why there
// is no pod, or no further pod. The zero Explanation has no reason.
func (e Explanation) Job() Reason {
	if e.facts == nil {
		return Reason{}
	}
	return e.facts.reason
}

// decided explains the state of the Job by the first reason that applies.
func (f *facts) decided() Reason {
	r := finished(f.Job)
	switch {
	case r.Code != "":
	case f.InFlight.Status:
		r.Code, r.Text = JobStale, "waiting for the last status write to be observed"
	case f.End.Condition.Type != "" && !f.deletedFirst():
		r.Code, r.Text = JobEnding, f.textEnding()
	case f.Job.DeletionTimestamp != nil:
		r.Code, r.Text = JobDeleting, "the Job is being deleted"
	case f.InFlight.Creations > 0 || f.InFlight.Deletions > 0:
		r.Code, r.Text = JobInFlight, "waiting to observe "+f.unobserved()
	case f.suspended():
		r.Code, r.Text = JobSuspended, "the Job is suspended"+f.textDeletes()
	case len(f.decision.Delete) > 0:
		r.Code, r.Text = JobRemoving, fmt.Sprintf("deleting %d of %s, because %s", len(f.decision.Delete),
			count(f.Progress.Active, "active pod"), whyDeleted(f.decision.Delete))
	case len(f.decision.Create) > 0:
		r.Code, r.Text = JobCreating, "creating "+count(len(f.decision.Create), "pod")+
			textIf(f.Plan.Wait > 0, "; others are backing off, the first until "+f.clock(f.retry()))
	case f.Plan.Wait > 0 && f.PerIndex():
		r.Code, r.Text = JobBackingOff, "the next indexes without a pod are backing off, the first until "+
			f.clock(f.retry())
	case f.Plan.Wait > 0:
		r.Code, r.Text = JobBackingOff, "backing off until "+f.clock(f.retry())+" after "+
			count(f.Plan.Record.Failures, "failure")
	case f.Spec.ReplaceFailedOnly && f.Progress.Active < f.Plan.Want && f.Progress.Terminating > 0:
		r.Code, r.Text = JobAwaitingTermination, "replacements wait for "+count(f.Progress.Terminating, "pod")+
			" to terminate"+f.textLost()
	case f.parallelism() == 0:
		r.Code, r.Text = JobNoParallelism, "the Job's parallelism is 0"
	default:
		r.Code, r.Text = JobRunning, f.textRunning()
	}
	r.Until = f.retry()
	r.Text += also("", f.decision.Deferred.Create, "more pod", " to create") +
		also("", f.decision.Deferred.Delete, "more pod", " to delete") +
		also("", f.decision.Deferred.Strip, "more finalizer", " to remove")
	return r
}

var deletionReasons = map[string]string{
	decide.CauseJobEnds:   "the Job ends",
	decide.CauseSuspended: "the Job is suspended",
	decide.CauseTooMany:   "the Job needs fewer",
	decide.CauseDuplicate: "another pod of the index is active",
	decide.CauseBeyond:    "the index is not below completions",
	decide.CauseNoIndex:   "the index is missing",
}

// deletedFirst reports whether the Job was deleted before it was decided that it fails: its pods were
// deleted, too.
func (f *facts) deletedFirst() bool {
	at := f.Job.DeletionTimestamp
	end := jobstatus.OutcomeOf(f.Job)
	return at != nil && f.End.Condition.Type == batchv1.JobFailureTarget &&
		(!f.EndStored() || !end.Since.Before(at.Time))
}

// whyDeleted completes the sentence "pods are deleted, because …".
func whyDeleted(deletions []decide.Deletion) string {
	var reasons []string
	for _, d := range deletions {
		if r := deletionReasons[d.Cause]; !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	return strings.Join(reasons, ", or ")
}

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
	// WaitTTL: for the deletion of the Job, which has ended.
	WaitTTL Code = "TTL"
	// WaitDeadline: for the Job's deadline, at which it fails.
	WaitDeadline Code = "Deadline"
)

// Waits returns what the Job waits for once the decision is carried out. Until is the time
// at which the wait ends by itself or is due to end. A Job that has ended waits at most for its
// deletion.
func (e Explanation) Waits() []Reason {
	f := e.facts
	switch {
	case f == nil:
		return nil
	case jobstatus.Finished(f.Job) != nil:
		at := f.goneAt()
		return thatApply(when(!at.IsZero(), WaitTTL, "its deletion at "+f.clock(at)+
			", by spec.ttlSecondsAfterFinished").until(at))
	}
	goesOn := f.goesOn()
	var due time.Time // of the last terminating pod; a pod that the decision deletes has no due time yet
	for _, r := range f.pods {
		if r.Terminating && len(f.decision.Delete) == 0 {
			due = latest(due, r.Pod.DeletionTimestamp.Time)
		}
	}
	return thatApply(
		when(f.InFlight.Status, WaitOwnWrite, "the last status write to be observed"),
		when(f.InFlight.Creations > 0 || f.InFlight.Deletions > 0, WaitPodsObserved, f.unobserved()+" to be observed"),
		when(f.Job.DeletionTimestamp != nil, WaitDeletion, "the Job to be deleted"),
		when(goesOn && f.suspended(), WaitResume, "a user to resume the Job"),
		when(goesOn && !f.suspended() && f.parallelism() == 0, WaitParallelism,
			"a user to raise the parallelism above 0"),
		when(f.Plan.Active > 0, WaitPodsFinish, count(f.Plan.Active, "pod")+" to finish"),
		when(f.Plan.Terminating > 0, WaitTermination, count(f.Plan.Terminating, "pod")+" to terminate"+
			textIf(!due.IsZero(), ", due "+either(due.Before(f.Now), "since ", "by ")+f.clock(due))+
			f.textLost()).until(due),
		when(f.Plan.Wait > 0, WaitBackoff, "the backoff to end at "+f.clock(f.retry())).until(f.retry()),
		when(goesOn && !f.Plan.Deadline.IsZero(), WaitDeadline,
			"its deadline at "+f.clock(f.Plan.Deadline)+", when it fails").until(f.Plan.Deadline),
	)
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
	f := e.facts
	if f == nil {
		return Reason{}
	}
	one := int32(1)
	completions := *cmp.Or(f.Spec.Completions, &one) // a Job without completions needs one success
	phase, ending := jobstatus.OutcomeOf(f.Job).Phase, f.End.Condition.Type
	need := max(0, completions-f.Progress.Succeeded)
	// A failed index keeps the Job from being complete (KEP-3850), but its success policy
	// can still be met: rule is the first that the other indexes can satisfy.
	rule := f.SuccessRule(f.Progress.FailedIndexes.Complement(completions))
	first, failed := f.Progress.FailedIndexes.Min()
	n := f.Progress.FailedIndexes.Len()
	haveFailed := either(n > 1, fmt.Sprintf("%d indexes have failed, the first is %d", n, first),
		fmt.Sprintf("index %d has failed", first))
	r := cmp.Or(
		when(phase == jobstatus.Complete, ProspectSuccess, "yes, the Job has succeeded"),
		when(phase == jobstatus.Failed, ProspectFailure, "no, the Job has failed"),
		when(ending == batchv1.JobSuccessCriteriaMet || phase == jobstatus.Succeeding, ProspectSuccess,
			"yes, it is decided that the Job succeeds"),
		when(ending != "" || phase == jobstatus.Failing, ProspectFailure, "no, it is decided that the Job fails"),
		when(failed && rule < 0, ProspectOutOfReach,
			"no: "+haveFailed+"; the Job fails when no other index is left to run"),
		when(f.Job.DeletionTimestamp != nil && need > f.Progress.Active, ProspectOutOfReach,
			fmt.Sprintf("no: the Job is being deleted, and %s cannot reach the %d successes that are still needed",
				count(f.Progress.Active, "pod"), need)),
		when(need > f.Plan.Active && !f.Plan.Deadline.IsZero() && f.retry().After(f.Plan.Deadline) &&
			f.Job.Spec.SuccessPolicy == nil, ProspectOutOfReach,
			fmt.Sprintf("no: the next pod is created at %s, and the deadline is at %s",
				f.clock(f.retry()), f.clock(f.Plan.Deadline))),
		when(f.Spec.Completions == nil && need > 0, ProspectPossible, "yes: one pod must succeed, and all must finish"),
		when(f.Spec.Completions == nil, ProspectPossible, "yes: a pod has succeeded, the others must finish"),
		when(failed, ProspectPossible,
			fmt.Sprintf("yes: %s, but rule %d of the success policy can still be met", haveFailed, rule)),
		when(f.Indexed(), ProspectPossible, fmt.Sprintf("yes: %d of %d indexes to go", need, completions)+
			textIf(f.Job.Spec.SuccessPolicy != nil, ", or fewer by the success policy")),
		when(true, ProspectPossible, fmt.Sprintf("yes: %d of %s to go", need, count(completions, "pod"))),
	)
	if r.Code == ProspectPossible {
		r.Until, r.Text = f.Plan.Deadline, r.Text+f.conditions()
	}
	return r
}

// conditions says on what conditions the Job succeeds.
func (f *facts) conditions() string {
	limit, failed, failsAt := f.Spec.Limit.PerJob, f.Progress.Failed, f.Plan.Deadline
	limited, restarts := limit < math.MaxInt32, f.Job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	return cmp.Or(
		textIf(f.Job.DeletionTimestamp != nil, "; only with the pods it has, because it is being deleted"),
		textIf(f.suspended(), "; once it is resumed"),
		textIf(f.parallelism() == 0, "; once its parallelism is above 0"),
	) +
		textIf(f.PerIndex(), "; at most "+count(f.Spec.Limit.PerIndex, "failure")+" per index") +
		textIf(limited, fmt.Sprintf("; at most %s, %d so far", count(limit, "failure"), failed)) +
		textIf(limited && restarts, fmt.Sprintf(", and %s, %d so far",
			either(limit <= 1, "no container restart", fmt.Sprintf("fewer than %d container restarts", limit)),
			f.Progress.Restarts)) +
		textIf(!limited && !f.PerIndex(), fmt.Sprintf("; no limit on failures, %d so far", failed)) +
		textIf(!failsAt.IsZero(), "; before the deadline at "+f.clock(failsAt))
}

// finished says how a Job has ended; it is zero if the Job has not.
func finished(job *batchv1.Job) Reason {
	end := jobstatus.OutcomeOf(job)
	return when(end.Terminal(), JobFinished,
		joined(": ", fmt.Sprintf("the Job is %s", end.Phase), end.Reason, end.Message))
}

func (f *facts) textEnding() string {
	text := fmt.Sprintf("the Job %s: %s: %s%s", f.ends("succeeds", "fails"), f.End.Condition.Reason,
		f.End.Condition.Message, f.textDeletes())
	return text + either(f.End.Settled, also("", f.Plan.Terminating, "pod", " terminating"),
		"; the condition is set once all pods are observed and deleted")
}

func (f *facts) textRunning() string {
	n := f.Progress.FailedIndexes.Len()
	of := textIf(f.Spec.Completions != nil, fmt.Sprintf(" of %d", *cmp.Or(f.Spec.Completions, new(int32))))
	return fmt.Sprintf("%s active, parallelism %d, %d%s succeeded%s", count(f.Progress.Active, "pod"), f.parallelism(),
		f.Progress.Succeeded, of, textIf(n > 0, fmt.Sprintf(", %d failed", n))) +
		textIf(f.Spec.Completions == nil && f.Progress.Succeeded > 0, ", so no further pod is created")
}

// unobserved counts the writes that are in flight.
func (f *facts) unobserved() string {
	return count(max(0, f.InFlight.Creations), "creation") + " and " +
		count(max(0, f.InFlight.Deletions), "deletion")
}

func (f *facts) textDeletes() string { return also("deleting ", len(f.decision.Delete), "pod", "") }

// textLost says when the next pod on a lost node counts as failed.
func (f *facts) textLost() string {
	at := f.Now.Add(f.Progress.UntilLost)
	return textIf(at.After(f.Now), "; a pod on a lost node counts as failed at "+f.clock(at))
}

// count renders a number of things: "3 pods".
func count[N int | int32](n N, thing string) string {
	return strconv.Itoa(int(n)) + " " + thing + textIf(n != 1, "s")
}

// also renders a number of things as a further clause; empty if there are none.
func also[N int | int32](before string, n N, thing, after string) string {
	return textIf(n > 0, "; "+before+count(n, thing)+after)
}

// textIf returns a text that applies under a condition, and "" if it does not hold.
func textIf(holds bool, text string) string { return either(holds, text, "") }

// either returns a if a condition holds, and b if it does not.
func either[T any](holds bool, a, b T) T {
	if holds {
		return a
	}
	return b
}
