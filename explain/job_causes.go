package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// The labels and values that Kueue sets on Jobs.
const (
	kueueQueue    = "kueue.x-k8s.io/queue-name" // a label; once an annotation
	kueueWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	multiKueue    = "kueue.x-k8s.io/multikueue" // in spec.managedBy
)

// finished finds that the Job has ended. A Job that has succeeded needs no attention.
func (f *facts) finished(c *Cause) {
	end := jobstatus.OutcomeOf(f.job)
	if end.Terminal() {
		c.Text = textFinished(f.job)
	}
	if end.Phase == jobstatus.Complete {
		c.Advice, c.Attention = "", AttentionNone
	}
}

func textFinished(job *batchv1.Job) string {
	end := jobstatus.OutcomeOf(job)
	return fmt.Sprintf("the Job is %s: %s: %s", end.Phase, end.Reason, end.Message)
}

// managedElsewhere finds that there is no decision, because MultiKueue or another controller
// manages the Job.
func (f *facts) managedElsewhere(c *Cause) {
	manager := batchv1.JobControllerName
	if f.job.Spec.ManagedBy != nil {
		manager = *f.job.Spec.ManagedBy
	}
	switch {
	case f.Outcome != nil || (manager == multiKueue) != (c.Code == CauseMultiKueue):
	case manager != multiKueue:
		c.Text = "the controller " + manager + " manages the Job"
	case f.job.Spec.Suspend != nil && *f.job.Spec.Suspend:
		c.Text = "MultiKueue manages the Job, which is suspended here, and runs it in a worker cluster once it is admitted"
	default:
		c.Text = "MultiKueue runs the Job in a worker cluster; there are no pods here"
	}
}

func (f *facts) queuedByKueue(c *Cause) {
	queue, workload := cmp.Or(f.job.Labels[kueueQueue], f.job.Annotations[kueueQueue]), f.job.Labels[kueueWorkload]
	switch {
	case f.reason.Code != JobSuspended:
	case queue != "":
		c.Text = "Kueue holds the Job suspended until its queue " + queue + " admits it" + f.alsoDeletes()
	case workload != "":
		c.Text = "Kueue holds the Job suspended until its workload " + workload + " is admitted" + f.alsoDeletes()
	}
}

// recreated finds that the pods are controlled by a Job with the same name and another UID,
// and that this Job has none.
func (f *facts) recreated(c *Cause) {
	if f.View.Census.Len() > 0 {
		return
	}
	for _, pod := range f.View.Census.Pods() {
		owner := metav1.GetControllerOfNoCopy(pod)
		if pod.Namespace == f.job.Namespace && owner != nil && owner.Kind == "Job" && owner.Name == f.job.Name && owner.UID != f.job.UID {
			c.Pods = append(c.Pods, pod.Name)
		}
	}
	if n := len(c.Pods); n > 0 {
		c.Text = fmt.Sprintf("an earlier Job named %s owns %s; this Job was created %s and has no pods",
			f.job.Name, count(n, "pod"), f.ago(f.job.CreationTimestamp.Time))
	}
}

func (f *facts) podsMissing(c *Cause) {
	if active := f.job.Status.Active; active > 0 && f.View.Census.Len() == 0 && f.reason.Code != JobFinished {
		c.Text = fmt.Sprintf("the status counts %s as active, but the snapshot has none of the Job's pods", count(active, "pod"))
	}
}

// eventPatience is how long a FailedCreate event counts. The controller retries every
// minute, but event clients let one event through every five minutes.
const eventPatience = 10 * time.Minute

// refusedNow returns the API server's message about the missing pods, whose creation it
// refused; empty if no event reports a refusal.
func (f *facts) refusedNow() string {
	refusal := f.lastEvent("Job", f.job)
	if refusal == nil || len(f.Plan.Work.Create) == 0 {
		return ""
	}
	if at := timeOf(refusal); f.past(at, eventPatience) && at.Before(f.lastChange()) {
		return ""
	}
	return oneLine(strings.TrimPrefix(refusal.Message, "Error creating: "))
}

// refused finds pods that are missing because the API server refused them, for a cause of
// this kind.
func (f *facts) refused(c *Cause) {
	if message := f.refusedNow(); message != "" && kindOf(message) == c.Code {
		c.Text = count(len(f.Plan.Work.Create), "pod") + " cannot be created: " + message
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
func (f *facts) creationOverdue(c *Cause) {
	if len(f.Plan.Work.Create) == 0 || f.refusedNow() != "" {
		return
	}
	v, change := f.View, f.lastChange()
	if r := f.Plan.Record; !v.Spec.PerIndex() && r.Failures > 0 {
		change = latest(change, r.LastFailure.Add(v.Config.Backoff.Delay(r.Failures)))
	}
	var overdue []time.Time
	for _, create := range f.Plan.Work.Create {
		due := change
		if failed := v.Census.Predecessor(create.Index); failed != nil {
			due = latest(due, failed.Finish().Add(v.Config.Backoff.Delay(failed.Counts.Next(true).Total())))
		}
		if f.overdue(due) {
			overdue = append(overdue, due)
		}
	}
	if n := len(overdue); n > 0 {
		c.Text = count(n, "pod") + " should have been created " + f.ago(slices.MinFunc(overdue, time.Time.Compare))
	}
}

// exceedsDeadline reports whether the Job fails because of its deadline, and no condition
// says so yet.
func (o outcome) exceedsDeadline() bool {
	return o.Ending().Reason == batchv1.JobReasonDeadlineExceeded && !o.Ending().Decided
}

func (f *facts) deadlineOverdue(c *Cause) {
	if f.exceedsDeadline() && f.overdue(f.FailsAt()) {
		c.Text = fmt.Sprintf("the deadline passed %s, and the Job has no condition FailureTarget", f.ago(f.FailsAt()))
	}
}

// endOverdue finds a Job whose next condition, the interim or the terminal one, could have
// been written since the last known change.
func (f *facts) endOverdue(c *Cause) {
	end, change, how := f.Ending(), f.lastChange(), "failed"
	if f.exceedsDeadline() {
		change = latest(change, f.FailsAt())
	}
	if end.Succeeds() {
		how = "succeeded"
	}
	waits := end.Decided && f.View.Census.Active+f.View.Census.Terminating > 0
	if end.Ended() && !waits && f.overdue(change) {
		c.Text = fmt.Sprintf("the Job should have %s %s: %s", how, f.ago(change), end.Reason)
	}
}

// termination finds pods whose termination is overdue, if that holds up the Job or, with
// false, if the Job goes on.
func termination(blocks bool) func(*facts, *Cause) {
	return func(f *facts, c *Cause) {
		if blocks == (!f.goesOn() || f.View.Spec.ReplaceFailedOnly && !f.View.Spec.Suspended) {
			f.terminationOverdue(c)
		}
	}
}

// terminationOverdue finds the pods that should have terminated. A pod that has terminated
// but has a foreign finalizer matters only if the Job is being deleted, which it blocks.
func (f *facts) terminationOverdue(c *Cause) {
	var first *corev1.Pod
	for _, r := range f.View.Census.AllInOrder() {
		if pod := r.Pod; pod.DeletionTimestamp != nil && f.overdue(pod.DeletionTimestamp.Time) &&
			(r.Terminating || f.job.DeletionTimestamp != nil && len(f.foreignFinalizers(pod)) > 0) {
			c.Pods = append(c.Pods, pod.Name)
			if first == nil || pod.DeletionTimestamp.Before(first.DeletionTimestamp) {
				first = pod
			}
		}
	}
	if first == nil {
		return
	}
	who := "pod " + first.Name
	if first.Spec.NodeName != "" {
		who += " on node " + first.Spec.NodeName
	}
	ago := f.ago(first.DeletionTimestamp.Time)
	c.Text = who + " should have terminated " + ago
	if n := len(c.Pods); n > 1 {
		c.Text = fmt.Sprintf("%s should have terminated, the first (%s) %s", count(n, "pod"), who, ago)
	}
	if notReady := f.notReady(first.Spec.NodeName); notReady != "" {
		c.Text += "; " + notReady
	}
	if names := f.foreignFinalizers(first); len(names) > 0 {
		c.Text += "; the pod has the finalizer " + strings.Join(names, ", ")
	}
}

// foreignFinalizers returns the finalizers of a pod other than the Job controller's.
func (f *facts) foreignFinalizers(pod *corev1.Pod) []string {
	return slices.DeleteFunc(slices.Clone(pod.Finalizers), func(name string) bool { return name == f.View.Keys().Finalizer })
}
