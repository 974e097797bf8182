package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// eventPatience is how long a FailedCreate event counts. The controller retries every
// minute, but event clients let one event through every five minutes.
const eventPatience = 10 * time.Minute

// refusedNow returns the API server's message about the missing pods, whose creation it
// refused; empty if no event reports a refusal.
func (f *facts) refusedNow() string {
	if f.refusal == nil || len(f.Plan.Work.Create) == 0 {
		return ""
	}
	if at := timeOf(f.refusal); f.past(at, eventPatience) && at.Before(f.lastChange()) {
		return ""
	}
	return oneLine(strings.TrimPrefix(f.refusal.Message, "Error creating: "))
}

// refused finds pods that are missing because the API server refused them, for a cause of
// this kind.
func refused(code Code) func(*facts) finding {
	return func(f *facts) finding {
		message := f.refusedNow()
		if message == "" || kindOf(message) != code {
			return finding{}
		}
		return finding{text: pods(len(f.Plan.Work.Create)) + " cannot be created: " + message}
	}
}

// kindOf classifies the API server's message about a refused creation.
func kindOf(message string) Code {
	switch {
	case strings.Contains(message, "exceeded quota"):
		return CauseQuota
	case strings.Contains(message, "admission webhook"), strings.Contains(message, "calling webhook"):
		return CauseWebhook
	}
	return CauseCreationRefused
}

// creationOverdue finds pods whose creation has been due since the last known change and
// the end of their backoff, if no event says why they were not created.
func (f *facts) creationOverdue() finding {
	if len(f.Plan.Work.Create) == 0 || f.refusedNow() != "" {
		return finding{}
	}
	v, change := f.View, f.lastChange()
	if r := f.Plan.Record; !v.Spec.PerIndex && r.Failures > 0 {
		change = latest(change, r.LastFailure.Add(v.Config.Backoff.Delay(r.Failures)))
	}
	n, first := 0, v.Now
	for _, c := range f.Plan.Work.Create {
		due := change
		if failed := v.Census.Predecessor(c.Index); failed != nil {
			due = latest(due, failed.Finish().Add(v.Config.Backoff.Delay(failed.Counts.Next(true).Total())))
		}
		if !f.overdue(due) {
			continue
		}
		if n++; due.Before(first) {
			first = due
		}
	}
	if n == 0 {
		return finding{}
	}
	return finding{text: pods(n) + " should have been created " + f.ago(first)}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// deadline is when the Job fails, if its time is limited.
func (f *facts) deadline() (time.Time, bool) {
	left, limited := f.View.UntilDeadline(f.Plan.Start)
	return f.View.Now.Add(left), limited
}

func (f *facts) deadlineOverdue() finding {
	deadline, limited := f.deadline()
	if !limited || f.Plan.End.Reason != batchv1.JobReasonDeadlineExceeded || f.Plan.End.Decided || !f.overdue(deadline) {
		return finding{}
	}
	return finding{text: fmt.Sprintf("the deadline passed %s, and the Job has no condition FailureTarget", f.ago(deadline))}
}

// endOverdue finds a Job whose next condition, the interim or the terminal one, could have
// been written since the last known change.
func (f *facts) endOverdue() finding {
	end := f.End
	if !end.Ended() {
		end = f.Plan.End
	}
	change := f.lastChange()
	if deadline, limited := f.deadline(); limited && end.Reason == batchv1.JobReasonDeadlineExceeded && !end.Decided {
		change = latest(change, deadline)
	}
	if !end.Ended() || end.Decided && f.View.Census.Active+f.View.Census.Terminating > 0 || !f.overdue(change) {
		return finding{}
	}
	how := "failed"
	if end.Succeeds() {
		how = "succeeded"
	}
	return finding{text: fmt.Sprintf("the Job should have %s %s: %s", how, f.ago(change), end.Reason)}
}

// terminationBlocks finds pods whose termination is overdue and holds up the Job.
func (f *facts) terminationBlocks() finding {
	if !f.terminationMatters() {
		return finding{}
	}
	return f.terminationOverdue()
}

// terminationLingers finds pods whose termination is overdue while the Job goes on.
func (f *facts) terminationLingers() finding {
	if f.terminationMatters() {
		return finding{}
	}
	return f.terminationOverdue()
}

func (f *facts) terminationMatters() bool {
	return !f.goesOn() || f.View.Spec.ReplaceFailedOnly && !f.View.Spec.Suspended
}

// terminationOverdue finds the pods that should have terminated. A pod that has terminated
// but has a foreign finalizer matters only if the Job is being deleted, which it blocks.
func (f *facts) terminationOverdue() finding {
	var overdue []*corev1.Pod
	for _, r := range f.View.Census.AllInOrder() {
		if pod := r.Pod; pod.DeletionTimestamp != nil && f.overdue(pod.DeletionTimestamp.Time) &&
			(r.Terminating || f.job.DeletionTimestamp != nil && len(f.foreignFinalizers(pod)) > 0) {
			overdue = append(overdue, pod)
		}
	}
	if len(overdue) == 0 {
		return finding{}
	}
	first := slices.MinFunc(overdue, func(a, b *corev1.Pod) int {
		return cmp.Or(a.DeletionTimestamp.Time.Compare(b.DeletionTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	who := "pod " + first.Name
	if first.Spec.NodeName != "" {
		who += " on node " + first.Spec.NodeName
	}
	text := who + " should have terminated " + f.ago(first.DeletionTimestamp.Time)
	if n := len(overdue); n > 1 {
		text = fmt.Sprintf("%s should have terminated, the first (%s) %s", pods(n), who, f.ago(first.DeletionTimestamp.Time))
	}
	if notReady := f.notReady(first.Spec.NodeName); notReady != "" {
		text += "; " + notReady
	}
	if names := f.foreignFinalizers(first); len(names) > 0 {
		text += "; the pod has the finalizer " + strings.Join(names, ", ")
	}
	return finding{text: text, pods: overdue}
}

// foreignFinalizers returns the finalizers of a pod other than the Job controller's.
func (f *facts) foreignFinalizers(pod *corev1.Pod) (names []string) {
	own := f.View.Keys().Finalizer
	for _, name := range pod.Finalizers {
		if name != own {
			names = append(names, name)
		}
	}
	return names
}
