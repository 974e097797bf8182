// Package whynot says why a Job gets no pod, or no further pod. It reads only exported values: the
// decision, and [jobfate.Facts], as package explain does; its test compares the answers of both.
// Write such a package if your controller needs other texts.
package whynot

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Answer is a reason, with a code for programs. Until is when time alone changes it; zero if
// something else must happen.
type Answer struct {
	Code, Text string
	Until      time.Time
}

// Job says why the Job is in its state, by the first reason that applies.
func Job(d jobfate.Decision) Answer {
	f := d.Facts()
	if f == nil {
		return Answer{}
	}
	a := Answer{Until: retry(f)}
	end := jobstatus.OutcomeOf(f.Job)
	switch {
	case end.Terminal():
		a.Code, a.Text = "Finished", fmt.Sprintf("%s by %s: %s", end.Phase, end.Reason, end.Message)
	case f.InFlight.Status:
		a.Code, a.Text = "WaitingForOwnWrite", "the cache does not show the last status write"
	case f.Ending.Type == batchv1.JobSuccessCriteriaMet:
		a.Code, a.Text = "Ending", fmt.Sprintf("succeeds by %s: %s", f.Ending.Reason, f.Ending.Message)
	case f.Ending.Type == batchv1.JobFailureTarget && !deletedFirst(f, end):
		a.Code, a.Text = "Ending", fmt.Sprintf("fails by %s: %s", f.Ending.Reason, f.Ending.Message)
	case f.Job.DeletionTimestamp != nil:
		a.Code, a.Text = "Deleting", "the Job is being deleted"
	case f.InFlight.Creations > 0 || f.InFlight.Deletions > 0:
		a.Code, a.Text = "WaitingForPods", fmt.Sprintf("the cache does not show %d creations and %d deletions",
			f.InFlight.Creations, f.InFlight.Deletions)
	case f.Suspended:
		a.Code, a.Text = "Suspended", fmt.Sprintf("suspended, %d pods are deleted", len(d.Delete))
	case len(d.Delete) > 0:
		a.Code, a.Text = "RemovingPods", fmt.Sprintf("%d of %d active pods are deleted: %s", len(d.Delete), f.Active,
			surplus(f, d.Delete))
	case len(d.Create) > 0:
		a.Code, a.Text = "CreatingPods", fmt.Sprintf("%d pods are created", len(d.Create))
	case f.Wait > 0 && f.PerIndex():
		a.Code, a.Text = "BackingOff", "each index waits after its own failures"
	case f.Wait > 0:
		a.Code, a.Text = "BackingOff", fmt.Sprintf("%d failures in a row", f.Record.Failures)
	case f.ReplaceFailedOnly && f.Active < f.Want && f.Terminating > 0:
		a.Code, a.Text = "AwaitingTermination", fmt.Sprintf("%d of %d places are taken by pods that terminate",
			f.Terminating, f.Want)
	case f.Parallelism == 0:
		a.Code, a.Text = "NoParallelism", "parallelism is 0"
	default:
		a.Code, a.Text = "Running", fmt.Sprintf("%d pods are active, parallelism is %d", f.Active, f.Parallelism)
	}
	return a
}

// deletedFirst reports whether a Job that fails was deleted before that was decided: its pods were deleted, too.
func deletedFirst(f *jobfate.Facts, end jobstatus.Outcome) bool {
	at := f.Job.DeletionTimestamp
	return at != nil && (!f.EndStored || !end.Since.Before(at.Time))
}

// retry returns when the next pod that backs off may be created; zero if none does.
func retry(f *jobfate.Facts) (at time.Time) {
	if f.Wait > 0 {
		at = f.Now.Add(f.Wait)
	}
	return at
}

// surplus says why pods of a Job that has not ended are deleted.
func surplus(f *jobfate.Facts, gone []jobfate.Deletion) string {
	switch cause := gone[0].Cause; cause {
	case jobfate.CauseTooMany:
		return fmt.Sprintf("the Job needs %d", f.Want)
	case jobfate.CauseBeyond:
		return fmt.Sprintf("index %d is not below completions %d", f.Pod(gone[0].Pod.UID).Index, *f.Completions)
	default:
		return cause
	}
}

// Deadline says when the Job fails by its deadline; zero if it does not, or is being deleted.
func Deadline(d jobfate.Decision) (a Answer) {
	if f := d.Facts(); f != nil && f.Timed && f.Ending.Type == "" && f.Job.DeletionTimestamp == nil {
		a = Answer{"Deadline", "fails at its deadline", f.Deadline}
	}
	return a
}

// Index says why an index of an Indexed Job has no active pod.
func Index(d jobfate.Decision, index int32) Answer {
	f := d.Facts()
	if f == nil || !f.Indexed || index < 0 || index >= *f.Completions {
		return Answer{Code: "Unknown", Text: "the Job has no such index"}
	}
	active, terminating, failing := podsOf(f, index)
	job, wait := Job(d), f.DelayOf(index)
	ends := job.Code == "Finished" || job.Code == "Ending" || job.Code == "Deleting"
	switch {
	case f.Completed.Contains(index):
		return Answer{Code: "Completed"}
	case f.FailedIndexes.Contains(index):
		return Answer{Code: "Failed", Text: failed(f, failing)}
	case active != nil:
		return Answer{Code: "Active", Text: "pod " + active.Pod.Name}
	case creates(d, index):
		return Answer{Code: "Creating"}
	case terminating != nil && (f.ReplaceFailedOnly || ends):
		return Answer{Code: "Terminating", Text: "pod " + terminating.Pod.Name}
	case ends:
		return Answer{Code: "Stopped", Text: job.Text}
	case !f.Suspended && f.Parallelism > 0 && wait > 0:
		return Answer{"BackingOff", "backs off", f.Now.Add(wait)}
	case job.Code == "Running" || job.Code == "CreatingPods" || job.Code == "BackingOff":
		return Answer{Code: "Pending", Text: fmt.Sprintf("other indexes have the places that parallelism %d allows",
			f.Parallelism)}
	}
	return Answer{Code: "Pending", Text: job.Text}
}

// podsOf returns the active pod of an index, the terminating one, and the one whose failure fails
// the index; nil if there is none.
func podsOf(f *jobfate.Facts, index int32) (active, terminating, failing *tracking.PodRecord) {
	for _, r := range f.Pods() {
		switch {
		case !r.Valid || r.Index != index:
		case r.Active:
			active = r
		case r.Terminating:
			terminating = r
		case r.FailsIndex():
			failing = r
		}
	}
	return active, terminating, failing
}

func creates(d jobfate.Decision, index int32) bool {
	for i := range d.Create {
		if d.Create[i].Index == index {
			return true
		}
	}
	return false
}

// failed says why an index has failed: by a rule of the pod failure policy or by the limit.
func failed(f *jobfate.Facts, r *tracking.PodRecord) string {
	if r == nil {
		return "the pod is gone"
	}
	why := fmt.Sprintf("%d failures, the limit is %d", r.Counts.Next(true).Failures, f.Limit.PerIndex)
	if r.Action() == batchv1.PodFailurePolicyActionFailIndex {
		why = fmt.Sprintf("rule %d is %s", r.Match().Rule, r.Action())
	}
	for i := range r.Pod.Status.ContainerStatuses {
		c := &r.Pod.Status.ContainerStatuses[i]
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			return fmt.Sprintf("%s; container %s of pod %s ended with exit code %d", why, c.Name, r.Pod.Name,
				end.ExitCode)
		}
	}
	return why + "; pod " + r.Pod.Name
}
