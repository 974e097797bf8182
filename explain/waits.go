package explain

import (
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
	var out []Reason
	for _, w := range waits {
		if w.applies(o) {
			r := w.reason(o)
			r.Code = w.code
			out = append(out, r)
		}
	}
	return out
}

// waits are in the order in which they are returned. Several may apply.
var waits = [...]struct {
	code    Code
	applies func(outcome) bool
	reason  func(outcome) Reason
}{
	{WaitOwnWrite, func(o outcome) bool { return o.View.InFlight.Status }, func(outcome) Reason {
		return Reason{Text: "the last status write to be observed"}
	}},
	{WaitPodsObserved, func(o outcome) bool { return o.View.InFlight.Creations > 0 || o.View.InFlight.Deletions > 0 }, func(o outcome) Reason {
		return Reason{Text: o.unobserved() + " to be observed"}
	}},
	{WaitDeletion, func(o outcome) bool { return o.View.Job.DeletionTimestamp != nil }, func(outcome) Reason {
		return Reason{Text: "the Job to be deleted"}
	}},
	{WaitResume, func(o outcome) bool { return o.View.Spec.Suspended && o.goesOn() }, func(outcome) Reason {
		return Reason{Text: "a user to resume the Job"}
	}},
	{WaitParallelism, func(o outcome) bool { return o.View.Spec.Parallelism == 0 && !o.View.Spec.Suspended && o.goesOn() }, func(outcome) Reason {
		return Reason{Text: "a user to raise the parallelism above 0"}
	}},
	{WaitPodsFinish, func(o outcome) bool { return o.After.Active > 0 }, func(o outcome) Reason {
		return Reason{Text: pods(int(o.After.Active)) + " to finish"}
	}},
	{WaitTermination, func(o outcome) bool { return o.After.Terminating > 0 }, outcome.waitTermination},
	{WaitBackoff, func(o outcome) bool { return o.Plan.Work.Wait > 0 }, func(o outcome) Reason {
		until := o.View.Now.Add(o.Plan.Work.Wait)
		return Reason{Until: until, Text: "the backoff to end at " + o.clock(until)}
	}},
	{WaitDeadline, func(o outcome) bool { return o.Plan.Deadline > 0 && o.goesOn() }, func(o outcome) Reason {
		until := o.View.Now.Add(o.Plan.Deadline)
		return Reason{Until: until, Text: "its deadline at " + o.clock(until) + ", when it fails"}
	}},
}

// goesOn reports whether the Job is not about to end.
func (o outcome) goesOn() bool {
	return o.View.Job.DeletionTimestamp == nil && !o.End.Ended() && !o.Plan.End.Ended()
}

// waitTermination says when the last terminating pod is due. A pod that the decision deletes
// has no due time until it is deleted.
func (o outcome) waitTermination() Reason {
	var due time.Time
	for r := range o.View.Census.All() {
		if r.Terminating && r.Pod.DeletionTimestamp.After(due) {
			due = r.Pod.DeletionTimestamp.Time
		}
	}
	text := pods(int(o.After.Terminating)) + " to terminate"
	if len(o.Plan.Work.Delete) > 0 || due.IsZero() {
		return Reason{Text: text}
	}
	if due.Before(o.View.Now) {
		return Reason{Until: due, Text: text + ", due since " + o.clock(due)}
	}
	return Reason{Until: due, Text: text + ", due by " + o.clock(due)}
}
