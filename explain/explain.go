package explain

import (
	"fmt"
	"time"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobstatus"
)

// Explanation explains a decision. It keeps a reference to the snapshot's pods, and
// computes details when they are requested.
type Explanation struct {
	about    outcome
	evidence []Evidence
}

// Of returns the explanation of a decision, with the given evidence. The explanation of
// the zero Decision is empty.
func Of(d jobfate.Decision, evidence ...Evidence) Explanation {
	return Explanation{outcome{inside.OutcomeOf(d)}, evidence}
}

// outcome is the decision to explain; the pointer is nil for the zero Explanation.
type outcome struct{ *decide.Outcome }

// Reason is a reason with a code for programs and a text for people.
type Reason struct {
	Code Code
	// Until is when the state changes by the passing of time alone; zero if another event
	// must happen.
	Until time.Time
	// Text is for people.
	Text string
}

// Code names a reason.
type Code string

// Why a Job is where it is.
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
	o := e.about
	if o.Outcome == nil {
		return Reason{}
	}
	var r Reason
	spec, pods, work := &o.View.Spec, o.View.Census, &o.Plan.Work
	switch {
	case jobstatus.Finished(o.View.Job) != nil:
		r.Code, r.Text = JobFinished, textFinished(o.View.Job)
	case o.View.InFlight.Status:
		r.Code, r.Text = JobStale, "waiting for the last status write to be observed"
	case o.Ending().Ended():
		r.Code, r.Text = JobEnding, o.textEnding()
	case o.View.Job.DeletionTimestamp != nil:
		r.Code, r.Text = JobDeleting, "the Job is being deleted"
	case !o.Plan.Settled:
		r.Code, r.Text = JobInFlight, "waiting to observe "+o.unobserved()
	case spec.Suspended:
		r.Code, r.Text = JobSuspended, "the Job is suspended"+o.alsoDeletes()
	case len(work.Delete) > 0:
		r.Code, r.Text = JobRemoving, fmt.Sprintf("deleting %d of %s: %s", len(work.Delete), count(pods.Active, "active pod"), work.Delete[0].Cause)
	case len(work.Create) > 0 && work.Wait > 0:
		r.Code, r.Text = JobCreating, fmt.Sprintf("creating %s; others are backing off, the first until %s", count(len(work.Create), "pod"), o.clock(o.retry()))
	case len(work.Create) > 0:
		r.Code, r.Text = JobCreating, "creating "+count(len(work.Create), "pod")
	case work.Wait > 0 && spec.PerIndex():
		r.Code, r.Text = JobBackingOff, "the next indexes without a pod are backing off, the first until "+o.clock(o.retry())
	case work.Wait > 0:
		r.Code, r.Text = JobBackingOff, fmt.Sprintf("backing off until %s after %s", o.clock(o.retry()), count(o.Plan.Record.Failures, "failure"))
	case spec.ReplaceFailedOnly && pods.Active < work.Want && pods.Terminating > 0:
		r.Code, r.Text = JobAwaitingTermination, fmt.Sprintf("replacements wait for %s to terminate", count(pods.Terminating, "pod"))
	case spec.Parallelism == 0:
		r.Code, r.Text = JobNoParallelism, "the Job's parallelism is 0"
	default:
		r.Code, r.Text = JobRunning, o.textRunning()
	}
	r.Until = o.retry()
	r.Text += o.left()
	return r
}

// retry is when the next pod that is backing off may be created; zero if none is.
func (o outcome) retry() time.Time {
	if o.Plan.Work.Wait == 0 {
		return time.Time{}
	}
	return o.View.Now.Add(o.Plan.Work.Wait)
}

// ending says in short how the Job ends.
func (o outcome) ending() string {
	how := "fails"
	if o.Ending().Succeeds() {
		how = "succeeds"
	}
	return how + ": " + o.Ending().Reason
}

func (o outcome) textEnding() string {
	text := fmt.Sprintf("the Job %s: %s%s", o.ending(), o.Ending().Message, o.alsoDeletes())
	switch {
	case !o.End.Ended():
		text += "; the condition is set once all pods are observed and deleted"
	case o.After.Terminating > 0:
		text += "; " + count(o.After.Terminating, "pod") + " terminating"
	}
	return text
}

func (o outcome) textRunning() string {
	done := fmt.Sprintf("%d succeeded", o.View.Totals.Succeeded)
	if o.View.Spec.Completions != nil {
		done = fmt.Sprintf("%d of %d succeeded", o.View.Totals.Succeeded, *o.View.Spec.Completions)
	}
	if n := o.View.Totals.Results.Failed.Len(); n > 0 {
		done += fmt.Sprintf(", %d failed", n)
	}
	return fmt.Sprintf("%s active, parallelism %d, %s", count(o.View.Census.Active, "pod"), o.View.Spec.Parallelism, done)
}

// unobserved counts the writes that are in flight.
func (o outcome) unobserved() string {
	return count(max(0, o.View.InFlight.Creations), "creation") + " and " + count(max(0, o.View.InFlight.Deletions), "deletion")
}

func (o outcome) alsoDeletes() string {
	if len(o.Plan.Work.Delete) == 0 {
		return ""
	}
	return "; deleting " + count(len(o.Plan.Work.Delete), "pod")
}

// left says what the limits of one sync leave for the next.
func (o outcome) left() (text string) {
	for _, rest := range [...]struct {
		n           int
		thing, todo string
	}{{o.Left.Create, "pod", "create"}, {o.Left.Delete, "pod", "delete"}, {o.Left.Strip, "finalizer", "remove"}} {
		if rest.n > 0 {
			text += fmt.Sprintf("; %s to %s", count(rest.n, "more "+rest.thing), rest.todo)
		}
	}
	return text
}

// clock renders a time in UTC, without the date if it is today's.
func (o outcome) clock(t time.Time) string {
	t = t.UTC()
	if t.Format(time.DateOnly) == o.View.Now.UTC().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.RFC3339)
}

// count renders a number of things: "3 pods".
func count[N int | int32](n N, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
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
	var out []Reason
	wait := func(code Code, until time.Time, text string) { out = append(out, Reason{code, until, text}) }
	never := time.Time{}
	if o.View.InFlight.Status {
		wait(WaitOwnWrite, never, "the last status write to be observed")
	}
	if o.View.InFlight.Creations > 0 || o.View.InFlight.Deletions > 0 {
		wait(WaitPodsObserved, never, o.unobserved()+" to be observed")
	}
	if o.View.Job.DeletionTimestamp != nil {
		wait(WaitDeletion, never, "the Job to be deleted")
	}
	switch {
	case !o.goesOn():
	case o.View.Spec.Suspended:
		wait(WaitResume, never, "a user to resume the Job")
	case o.View.Spec.Parallelism == 0:
		wait(WaitParallelism, never, "a user to raise the parallelism above 0")
	}
	if o.After.Active > 0 {
		wait(WaitPodsFinish, never, count(o.After.Active, "pod")+" to finish")
	}
	if o.After.Terminating > 0 {
		due, text := o.terminated()
		wait(WaitTermination, due, count(o.After.Terminating, "pod")+" to terminate"+text)
	}
	if until := o.retry(); !until.IsZero() {
		wait(WaitBackoff, until, "the backoff to end at "+o.clock(until))
	}
	if o.Plan.Timer() > 0 && o.goesOn() {
		wait(WaitDeadline, o.FailsAt(), "its deadline at "+o.clock(o.FailsAt())+", when it fails")
	}
	return out
}

// goesOn reports whether the Job has not ended, and is not about to end.
func (o outcome) goesOn() bool {
	return jobstatus.Finished(o.View.Job) == nil && o.View.Job.DeletionTimestamp == nil && !o.Ending().Ended()
}

// terminated returns when the last terminating pod is due, and says so. A pod that the
// decision deletes has no due time until it is deleted.
func (o outcome) terminated() (due time.Time, text string) {
	for r := range o.View.Census.All() {
		if r.Terminating && r.Pod.DeletionTimestamp.After(due) {
			due = r.Pod.DeletionTimestamp.Time
		}
	}
	switch {
	case len(o.Plan.Work.Delete) > 0 || due.IsZero():
		return time.Time{}, ""
	case due.Before(o.View.Now):
		return due, ", due since " + o.clock(due)
	}
	return due, ", due by " + o.clock(due)
}
