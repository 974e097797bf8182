package jobfate

import (
	"fmt"
	"time"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// What a Job waits for.
const (
	// WaitOwnWrite: for a status that was stored to be seen.
	WaitOwnWrite Code = "OwnWrite"
	// WaitPodsSeen: for pods that were created or deleted to be seen.
	WaitPodsSeen Code = "PodsToBeSeen"
	// WaitPodsFinish: for active pods to finish.
	WaitPodsFinish Code = "PodsToFinish"
	// WaitTermination: for pods that are being deleted to terminate.
	WaitTermination Code = "PodsToTerminate"
	// WaitBackoff: for a delay to be over.
	WaitBackoff Code = "Backoff"
	// WaitResume: for somebody to resume the Job.
	WaitResume Code = "Resume"
	// WaitParallelism: for somebody to raise the parallelism above 0.
	WaitParallelism Code = "Parallelism"
	// WaitDeletion: for the Job to be gone.
	WaitDeletion Code = "Deletion"
	// WaitDeadline: the Job's deadline, at which it fails.
	WaitDeadline Code = "Deadline"
)

// Waits returns what the Job waits for once the decision is carried out. Until
// is when time alone brings it about, or when it is due. A Job that has ended
// waits for nothing.
func (e Explanation) Waits() []Reason {
	s := e.step
	if s == nil || jobstatus.Finished(s.job) != nil {
		return nil
	}
	var out []Reason
	for _, w := range waits {
		if w.applies(s) {
			r := w.reason(s)
			r.Code = w.code
			out = append(out, r)
		}
	}
	return out
}

// waits are in the order in which they are told. All that apply are told.
var waits = [...]struct {
	code    Code
	applies func(*step) bool
	reason  func(*step) Reason
}{
	{WaitOwnWrite, func(s *step) bool { return s.inFlight.Status }, func(*step) Reason {
		return Reason{Text: "the status that was stored last to be seen"}
	}},
	{WaitPodsSeen, func(s *step) bool { return s.inFlight.Creations > 0 || s.inFlight.Deletions > 0 }, func(s *step) Reason {
		return Reason{Text: fmt.Sprintf("%d created and %d deleted pods to be seen", max(0, s.inFlight.Creations), max(0, s.inFlight.Deletions))}
	}},
	{WaitDeletion, func(s *step) bool { return s.job.DeletionTimestamp != nil }, func(*step) Reason {
		return Reason{Text: "the Job to be gone"}
	}},
	{WaitResume, func(s *step) bool { return s.suspended && s.goesOn() }, func(*step) Reason {
		return Reason{Text: "somebody to resume the Job"}
	}},
	{WaitParallelism, func(s *step) bool { return s.parallelism == 0 && !s.suspended && s.goesOn() }, func(*step) Reason {
		return Reason{Text: "somebody to raise the parallelism above 0"}
	}},
	{WaitPodsFinish, func(s *step) bool { return s.activeAfter() > 0 }, func(s *step) Reason {
		return Reason{Text: pods(int(s.activeAfter())) + " to finish"}
	}},
	{WaitTermination, func(s *step) bool { return s.terminatingAfter() > 0 }, (*step).waitTermination},
	{WaitBackoff, func(s *step) bool { return s.work.wait > 0 }, func(s *step) Reason {
		until := s.now.Add(s.work.wait)
		return Reason{Until: until, Text: "a backoff to be over at " + s.clock(until)}
	}},
	{WaitDeadline, func(s *step) bool { return s.deadline > 0 && s.goesOn() }, func(s *step) Reason {
		until := s.now.Add(s.deadline)
		return Reason{Until: until, Text: "its deadline at " + s.clock(until) + ", when it fails"}
	}},
}

// goesOn reports whether the Job is not about to end.
func (s *step) goesOn() bool {
	return s.job.DeletionTimestamp == nil && !s.final.Ended() && !s.end.Ended()
}

// activeAfter is the number of active pods once the decision is carried out.
func (s *step) activeAfter() int32 {
	if s.decided {
		return s.base.Active
	}
	return s.census.Active
}

func (s *step) terminatingAfter() int32 {
	if s.decided {
		return s.after.terminating
	}
	return s.census.Terminating
}

// waitTermination says when the last of the terminating pods is due. For those
// that the decision deletes only their deletion will tell.
func (s *step) waitTermination() Reason {
	var due time.Time
	for i := range s.census.Records {
		r := &s.census.Records[i]
		if r.Is(tracking.Terminating) && r.Pod.DeletionTimestamp.After(due) {
			due = r.Pod.DeletionTimestamp.Time
		}
	}
	text := pods(int(s.terminatingAfter())) + " to terminate"
	if len(s.work.delete) > 0 || due.IsZero() {
		return Reason{Text: text}
	}
	if due.Before(s.now) {
		return Reason{Until: due, Text: text + ", due since " + s.clock(due)}
	}
	return Reason{Until: due, Text: text + ", due by " + s.clock(due)}
}
