package explain

import (
	"fmt"
	"iter"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobstatus"
)

// Explanation explains a decision. It keeps a reference to the snapshot's pods, and
// computes details when they are requested.
type Explanation struct {
	about    outcome
	evidence Evidence
}

// Of returns the explanation of a decision, with the given evidence. The explanation of
// the zero Decision is empty.
func Of(d jobfate.Decision, evidence ...Evidence) Explanation {
	e := Explanation{about: outcome{inside.OutcomeOf(d)}}
	for _, more := range evidence {
		e.evidence.Events = append(e.evidence.Events, more.Events...)
		e.evidence.Nodes = append(e.evidence.Nodes, more.Nodes...)
	}
	return e
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
	return o.jobReason()
}

// jobReasons are tried in order; the first that applies is the answer.
var jobReasons = [...]struct {
	code    Code
	applies func(outcome) bool
	text    func(outcome) string
}{
	{JobFinished, func(o outcome) bool { return jobstatus.Finished(o.View.Job) != nil }, func(o outcome) string { return textFinished(o.View.Job) }},
	{JobStale, func(o outcome) bool { return o.View.InFlight.Status }, func(outcome) string {
		return "waiting for the last status write to be observed"
	}},
	{JobEnding, func(o outcome) bool { return o.End.Ended() || o.Plan.End.Ended() }, outcome.textEnding},
	{JobDeleting, func(o outcome) bool { return o.View.Job.DeletionTimestamp != nil }, func(outcome) string {
		return "the Job is being deleted"
	}},
	{JobInFlight, func(o outcome) bool { return !o.Plan.Settled }, func(o outcome) string {
		return "waiting to observe " + o.unobserved()
	}},
	{JobSuspended, func(o outcome) bool { return o.View.Spec.Suspended }, func(o outcome) string {
		return "the Job is suspended" + o.alsoDeletes()
	}},
	{JobRemoving, func(o outcome) bool { return len(o.Plan.Work.Delete) > 0 }, func(o outcome) string {
		return fmt.Sprintf("deleting %s: %s", portion(len(o.Plan.Work.Delete), int(o.View.Census.Active)), o.Plan.Work.Delete[0].Cause)
	}},
	{JobCreating, func(o outcome) bool { return len(o.Plan.Work.Create) > 0 }, func(o outcome) string {
		return "creating " + pods(len(o.Plan.Work.Create)) + o.alsoWaits()
	}},
	{JobBackingOff, func(o outcome) bool { return o.Plan.Work.Wait > 0 }, outcome.textBackingOff},
	{JobAwaitingTermination, func(o outcome) bool {
		return o.View.Spec.ReplaceFailedOnly && o.View.Census.Active < o.Plan.Work.Want && o.View.Census.Terminating > 0
	}, func(o outcome) string {
		return fmt.Sprintf("replacements wait for %s to terminate", pods(int(o.View.Census.Terminating)))
	}},
	{JobNoParallelism, func(o outcome) bool { return o.View.Spec.Parallelism == 0 }, func(outcome) string {
		return "the Job's parallelism is 0"
	}},
	{JobRunning, func(outcome) bool { return true }, outcome.textRunning},
}

func (o outcome) jobReason() Reason {
	for _, r := range jobReasons {
		if r.applies(o) {
			return Reason{Code: r.code, Until: o.until(r.code), Text: r.text(o) + o.left()}
		}
	}
	return Reason{}
}

func (o outcome) until(code Code) time.Time {
	switch {
	case (code == JobBackingOff || code == JobCreating) && o.Plan.Work.Wait > 0:
		return o.View.Now.Add(o.Plan.Work.Wait)
	}
	return time.Time{}
}

func textFinished(job *batchv1.Job) string {
	end := jobstatus.OutcomeOf(job)
	return fmt.Sprintf("the Job is %s: %s: %s", end.Phase, end.Reason, end.Message)
}

// ending says in short how the Job ends.
func (o outcome) ending() string {
	end, how := o.End, "fails"
	if !end.Ended() {
		end = o.Plan.End
	}
	if end.Succeeds() {
		how = "succeeds"
	}
	return how + ": " + end.Reason
}

func (o outcome) textEnding() string {
	end := o.End
	if !end.Ended() {
		end = o.Plan.End
	}
	text := fmt.Sprintf("the Job %s: %s%s", o.ending(), end.Message, o.alsoDeletes())
	if !o.End.Ended() {
		return text + "; the condition is set once all pods are observed and deleted"
	}
	if o.After.Terminating > 0 {
		text += "; " + pods(int(o.After.Terminating)) + " terminating"
	}
	return text
}

func (o outcome) textBackingOff() string {
	if o.View.Spec.PerIndex {
		return "the next indexes without a pod are backing off, the first until " + o.clock(o.View.Now.Add(o.Plan.Work.Wait))
	}
	return fmt.Sprintf("backing off until %s after %s", o.clock(o.View.Now.Add(o.Plan.Work.Wait)), failures(o.Plan.Record.Failures))
}

func (o outcome) textRunning() string {
	done := fmt.Sprintf("%d succeeded", o.View.Totals.Succeeded)
	if o.View.Spec.Completions != nil {
		done = fmt.Sprintf("%d of %d succeeded", o.View.Totals.Succeeded, *o.View.Spec.Completions)
	}
	if n := o.View.Totals.Results.Failed.Len(); n > 0 {
		done += fmt.Sprintf(", %d failed", n)
	}
	return fmt.Sprintf("%s active, parallelism %d, %s", pods(int(o.View.Census.Active)), o.View.Spec.Parallelism, done)
}

// unobserved counts the writes that are in flight.
func (o outcome) unobserved() string {
	return count(max(0, o.View.InFlight.Creations), "creation") + " and " + count(max(0, o.View.InFlight.Deletions), "deletion")
}

func (o outcome) alsoDeletes() string {
	if len(o.Plan.Work.Delete) == 0 {
		return ""
	}
	return "; deleting " + pods(len(o.Plan.Work.Delete))
}

func (o outcome) alsoWaits() string {
	if o.Plan.Work.Wait == 0 {
		return ""
	}
	return "; others are backing off, the first until " + o.clock(o.View.Now.Add(o.Plan.Work.Wait))
}

// left says what the limits of one sync leave for the next.
func (o outcome) left() (text string) {
	finished := "more pod%s to count"
	if o.View.Job.DeletionTimestamp != nil || jobstatus.Finished(o.View.Job) != nil {
		finished = "more finalizer%s to remove"
	}
	for _, rest := range []struct {
		n    int
		what string
	}{{o.Left.Create, "more pod%s to create"}, {o.Left.Delete, "more pod%s to delete"}, {o.Left.Strip, finished}} {
		switch {
		case rest.n == 1:
			text += fmt.Sprintf("; 1 "+rest.what, "")
		case rest.n > 1:
			text += fmt.Sprintf("; %d "+rest.what, rest.n, "s")
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
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

func pods(n int) string { return count(n, "pod") }

// portion renders a part of the active pods: "1 of 5 active pods".
func portion(n, active int) string { return fmt.Sprintf("%d of %s", n, count(active, "active pod")) }

func failures(n int32) string { return count(int(n), "failure") }

// Indexes returns, for an Indexed Job, the state of each index that is not completed, in
// order. Neighbouring indexes without a pod and in the same state are returned as one;
// [Explanation.Groups] also merges those that are not neighbours. For a Job that is not
// Indexed it returns none.
func (e Explanation) Indexes() iter.Seq[IndexReason] {
	return func(yield func(IndexReason) bool) {
		o := e.about
		if o.Outcome == nil || !o.View.Spec.Indexed {
			return
		}
		for _, r := range e.indexReasons() {
			if !yield(r.reason()) {
				return
			}
		}
	}
}

// Index returns the state of one index, which may be completed. For many indexes use
// Indexes, because each call of Index reads every pod.
func (e Explanation) Index(index int32) IndexReason {
	o := e.about
	switch {
	case o.Outcome == nil || !o.View.Spec.Indexed || index < 0 || index >= *o.View.Spec.Completions:
		return IndexReason{Indexes: indexset.Range(index, index), Reason: Reason{Code: IndexUnknown, Text: "not an index of the Job"}}
	case o.View.Totals.Results.Completed.Contains(index):
		return IndexReason{Indexes: indexset.Range(index, index), Reason: Reason{Code: IndexCompleted, Text: "completed"}}
	}
	r := e.indexReason(index)
	return r.reason()
}
