package jobfate

import (
	"fmt"
	"iter"
	"time"

	"github.com/jobfate/jobfate/jobstatus"
)

// Explanation says why a decision is what it is. It holds on to the snapshot's
// pods, and works the details out when it is asked for them.
type Explanation struct {
	step *step // nil for the zero Explanation
}

// Reason is a reason that a program can switch on and a person can read.
type Reason struct {
	Code Code
	// Until is when time alone will change it; zero when something else must.
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
	// JobStale: a status that was stored is still to be seen.
	JobStale Code = "WaitingForOwnWrite"
	// JobEnding: it is decided how the Job ends; pods are still to go or to be
	// counted.
	JobEnding Code = "Ending"
	// JobDeleting: the Job is being deleted and gets no more pods.
	JobDeleting Code = "Deleting"
	// JobInFlight: pods that were created or deleted are still to be seen.
	JobInFlight Code = "WaitingForPods"
	// JobSuspended: the Job is suspended.
	JobSuspended Code = "Suspended"
	// JobRemoving: active pods are deleted because they are too many or
	// misplaced.
	JobRemoving Code = "RemovingPods"
	// JobCreating: pods are created now.
	JobCreating Code = "CreatingPods"
	// JobBackingOff: failed pods are replaced only after a delay.
	JobBackingOff Code = "BackingOff"
	// JobAwaitingTermination: pods that are being deleted are replaced only once
	// they have terminated.
	JobAwaitingTermination Code = "AwaitingTermination"
	// JobNoParallelism: the Job's parallelism is 0.
	JobNoParallelism Code = "NoParallelism"
	// JobRunning: as many pods are active as there should be.
	JobRunning Code = "Running"
)

func (s *step) explain() Explanation { return Explanation{s} }

// Job returns why the Job as a whole is where it is. It answers first of all why
// there is no pod, or no further one. The zero Explanation has no reason.
func (e Explanation) Job() Reason {
	s := e.step
	if s == nil {
		return Reason{}
	}
	return s.jobReason()
}

// jobReasons are tried in order; the first that applies is the answer.
var jobReasons = [...]struct {
	code    Code
	applies func(*step) bool
	text    func(*step) string
}{
	{JobFinished, func(s *step) bool { return jobstatus.Finished(s.job) != nil }, (*step).textFinished},
	{JobStale, func(s *step) bool { return s.inFlight.Status }, func(*step) string {
		return "the status that was stored last is not to be seen in the Job yet"
	}},
	{JobEnding, func(s *step) bool { return s.final.Ended() || s.end.Ended() }, (*step).textEnding},
	{JobDeleting, func(s *step) bool { return s.job.DeletionTimestamp != nil }, func(*step) string {
		return "the Job is being deleted"
	}},
	{JobInFlight, func(s *step) bool { return !s.satisfied }, func(s *step) string {
		return fmt.Sprintf("%d created and %d deleted pods are not to be seen yet", s.inFlight.Creations, s.inFlight.Deletions)
	}},
	{JobSuspended, func(s *step) bool { return s.suspended }, func(s *step) string {
		return "the Job is suspended" + s.alsoDeletes()
	}},
	{JobRemoving, func(s *step) bool { return len(s.work.delete) > 0 }, func(s *step) string {
		return fmt.Sprintf("%s of %d active to delete: %s", pods(len(s.work.delete)), s.census.Active, s.work.delete[0].Cause)
	}},
	{JobCreating, func(s *step) bool { return len(s.work.create) > 0 }, func(s *step) string {
		return pods(len(s.work.create)) + " to create" + s.alsoWaits()
	}},
	{JobBackingOff, func(s *step) bool { return s.work.wait > 0 }, (*step).textBackingOff},
	{JobAwaitingTermination, func(s *step) bool {
		return s.replaceFailedOnly && s.census.Active < s.work.want && s.census.Terminating > 0
	}, func(s *step) string {
		return fmt.Sprintf("%s terminating, to be replaced only when terminated", pods(int(s.census.Terminating)))
	}},
	{JobNoParallelism, func(s *step) bool { return s.parallelism == 0 }, func(*step) string {
		return "the Job's parallelism is 0"
	}},
	{JobRunning, func(*step) bool { return true }, (*step).textRunning},
}

func (s *step) jobReason() Reason {
	for _, r := range jobReasons {
		if r.applies(s) {
			return Reason{Code: r.code, Until: s.until(r.code), Text: r.text(s)}
		}
	}
	return Reason{}
}

func (s *step) until(code Code) time.Time {
	switch {
	case (code == JobBackingOff || code == JobCreating) && s.work.wait > 0:
		return s.now.Add(s.work.wait)
	}
	return time.Time{}
}

func (s *step) textFinished() string {
	o := jobstatus.OutcomeOf(s.job)
	return fmt.Sprintf("the Job is %s: %s: %s", o.Phase, o.Reason, o.Message)
}

// ending says in short how the Job ends.
func (s *step) ending() string {
	end, how := s.final, "fails"
	if !end.Ended() {
		end = s.end
	}
	if end.Succeeds() {
		how = "succeeds"
	}
	return how + ": " + end.Reason
}

func (s *step) textEnding() string {
	end := s.final
	if !end.Ended() {
		end = s.end
	}
	text := fmt.Sprintf("the Job %s: %s%s", s.ending(), end.Message, s.alsoDeletes())
	if !s.final.Ended() {
		return text + "; this is not made known before all pods are seen and deleted"
	}
	if s.after.terminating > 0 {
		text += "; " + pods(int(s.after.terminating)) + " terminating"
	}
	return text
}

func (s *step) textBackingOff() string {
	if s.perIndex {
		return "the next indexes without a pod are backing off, the first until " + s.clock(s.now.Add(s.work.wait))
	}
	return fmt.Sprintf("backing off until %s after %s", s.clock(s.now.Add(s.work.wait)), failures(s.record.Failures))
}

func (s *step) textRunning() string {
	done := fmt.Sprintf("%d succeeded", s.succeeded)
	if s.completions != nil {
		done = fmt.Sprintf("%d of %d succeeded", s.succeeded, *s.completions)
	}
	if n := s.fates.Failed.Len(); n > 0 {
		done += fmt.Sprintf(", %d failed", n)
	}
	return fmt.Sprintf("%s active, parallelism %d, %s", pods(int(s.census.Active)), s.parallelism, done)
}

func (s *step) alsoDeletes() string {
	if len(s.work.delete) == 0 {
		return ""
	}
	return "; " + pods(len(s.work.delete)) + " to delete"
}

func (s *step) alsoWaits() string {
	if s.work.wait == 0 {
		return ""
	}
	return "; others are backing off, the first until " + s.clock(s.now.Add(s.work.wait))
}

// clock renders a time as the reader needs it: without the date when it is
// today's.
func (s *step) clock(t time.Time) string {
	t = t.UTC()
	if t.Format(time.DateOnly) == s.now.UTC().Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.RFC3339)
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func failures(n int32) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", n)
}

// Indexes returns, for an Indexed Job, what holds for each index that is not
// completed, in order. Neighbouring indexes for which the same holds, and of
// which no pod is known, come as one. A Job that is not Indexed has none.
func (e Explanation) Indexes() iter.Seq[IndexReason] {
	return func(yield func(IndexReason) bool) {
		s := e.step
		if s == nil || !s.indexed {
			return
		}
		for _, r := range s.indexReasons() {
			if !yield(r) {
				return
			}
		}
	}
}

// Index returns what holds for one index, completed ones included. For many indexes
// range over Indexes: each call looks at every pod.
func (e Explanation) Index(index int32) IndexReason {
	s := e.step
	switch {
	case s == nil || !s.indexed || index < 0 || index >= *s.completions:
		return IndexReason{First: index, Last: index, Reason: Reason{Code: IndexUnknown, Text: "not an index of the Job"}}
	case s.fates.Completed.Contains(index):
		return IndexReason{First: index, Last: index, Reason: Reason{Code: IndexCompleted, Text: "completed"}}
	}
	return s.indexReason(index)
}
