package explain

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"

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

// when returns a reason that applies under a condition, and the zero Reason if it does not
// hold. So cmp.Or of such reasons is an ordered table: the first that applies is the result.
func when(holds bool, code Code, text string) Reason {
	if !holds {
		return Reason{}
	}
	return Reason{Code: code, Text: text}
}

// until returns the reason with a time, unless it is zero.
func (r Reason) until(t time.Time) Reason {
	if r != (Reason{}) {
		r.Until = t
	}
	return r
}

// thatApply returns the reasons that are not zero.
func thatApply(all ...Reason) []Reason {
	return append([]Reason(nil), slices.DeleteFunc(all, func(r Reason) bool { return r == Reason{} })...)
}

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
	spec, pods, work := &o.View.Spec, o.View.Census, &o.Plan.Work
	r := finished(o.View.Job)
	switch {
	case r.Code != "":
	case o.View.InFlight.Status:
		r.Code, r.Text = JobStale, "waiting for the last status write to be observed"
	case o.Ending().Ended():
		r.Code, r.Text = JobEnding, o.textEnding()
	case o.View.Job.DeletionTimestamp != nil:
		r.Code, r.Text = JobDeleting, "the Job is being deleted"
	case !o.Plan.Settled:
		r.Code, r.Text = JobInFlight, "waiting to observe "+o.unobserved()
	case spec.Suspended:
		r.Code, r.Text = JobSuspended, "the Job is suspended"+o.deletes()
	case len(work.Delete) > 0:
		r.Code, r.Text = JobRemoving, fmt.Sprintf("deleting %d of %s: %s", len(work.Delete), count(pods.Active, "active pod"), work.Delete[0].Cause)
	case len(work.Create) > 0:
		r.Code, r.Text = JobCreating, "creating "+count(len(work.Create), "pod")+textIf(work.Wait > 0, "; others are backing off, the first until "+o.clock(o.retry()))
	case work.Wait > 0 && spec.PerIndex:
		r.Code, r.Text = JobBackingOff, "the next indexes without a pod are backing off, the first until "+o.clock(o.retry())
	case work.Wait > 0:
		r.Code, r.Text = JobBackingOff, "backing off until "+o.clock(o.retry())+" after "+count(o.Plan.Record.Failures, "failure")
	case spec.ReplaceFailedOnly && pods.Active < work.Want && pods.Terminating > 0:
		r.Code, r.Text = JobAwaitingTermination, "replacements wait for "+count(pods.Terminating, "pod")+" to terminate"
	case spec.Parallelism == 0:
		r.Code, r.Text = JobNoParallelism, "the Job's parallelism is 0"
	default:
		r.Code, r.Text = JobRunning, o.textRunning()
	}
	r.Until = o.retry()
	r.Text += also("", o.Left.Create, "more pod", " to create") + also("", o.Left.Delete, "more pod", " to delete") +
		also("", o.Left.Strip, "more finalizer", " to remove")
	return r
}

// finished says how a Job has ended; it is zero if the Job has not.
func finished(job *batchv1.Job) Reason {
	end := jobstatus.OutcomeOf(job)
	return when(end.Terminal(), JobFinished, fmt.Sprintf("the Job is %s: %s: %s", end.Phase, end.Reason, end.Message))
}

// retry is when the next pod that is backing off may be created; zero if none is.
func (o outcome) retry() time.Time {
	if o.Plan.Work.Wait == 0 {
		return time.Time{}
	}
	return o.View.Now.Add(o.Plan.Work.Wait)
}

// goesOn reports whether the Job has not ended, and is not about to end.
func (o outcome) goesOn() bool {
	return jobstatus.Finished(o.View.Job) == nil && o.View.Job.DeletionTimestamp == nil && !o.Ending().Ended()
}

// ends returns one of two words, by the way in which the Job ends.
func (o outcome) ends(succeeds, fails string) string {
	if o.Ending().Succeeds() {
		return succeeds
	}
	return fails
}

func (o outcome) textEnding() string {
	end := o.Ending()
	text := fmt.Sprintf("the Job %s: %s: %s%s", o.ends("succeeds", "fails"), end.Reason, end.Message, o.deletes())
	if !o.End.Ended() {
		return text + "; the condition is set once all pods are observed and deleted"
	}
	return text + also("", o.After.Terminating, "pod", " terminating")
}

func (o outcome) textRunning() string {
	totals, of := &o.View.Totals, ""
	if o.View.Spec.Completions != nil {
		of = fmt.Sprintf(" of %d", *o.View.Spec.Completions)
	}
	failed := totals.Results.Failed.Len()
	return fmt.Sprintf("%s active, parallelism %d, %d%s succeeded%s", count(o.View.Census.Active, "pod"),
		o.View.Spec.Parallelism, totals.Succeeded, of, textIf(failed > 0, fmt.Sprintf(", %d failed", failed)))
}

// unobserved counts the writes that are in flight.
func (o outcome) unobserved() string {
	return count(max(0, o.View.InFlight.Creations), "creation") + " and " + count(max(0, o.View.InFlight.Deletions), "deletion")
}

func (o outcome) deletes() string { return also("deleting ", len(o.Plan.Work.Delete), "pod", "") }

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
	return strconv.Itoa(int(n)) + " " + thing + textIf(n != 1, "s")
}

// also renders a number of things as a further clause; empty if there are none.
func also[N int | int32](before string, n N, thing, after string) string {
	if n <= 0 {
		return ""
	}
	return "; " + before + count(n, thing) + after
}

// textIf returns a text that applies under a condition, and "" if it does not hold.
func textIf(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}
