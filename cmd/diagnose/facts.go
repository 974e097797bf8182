package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
)

const (
	// patience is how long a step may be overdue before it counts as a cause. Kubelets, and
	// controllers under load, take seconds.
	patience = 2 * time.Minute
	// longPatience is how long a pod without a warning may take to start: large images take
	// minutes. It is also how long a container may outlast the others of its pod, and how long
	// a FailedCreate event counts: the controller retries every minute, but event clients let
	// one event through every five minutes.
	longPatience = 10 * time.Minute
)

// facts holds the decision and the evidence, prepared for the answers of a Diagnosis.
type facts struct {
	*decide.Facts
	world
	explained explain.Explanation // without the states of the pods
	decision  decide.Decision
	pods      []*record            // of the Job, by index and UID
	others    []*corev1.Pod        // the pods of other owners
	near      *crowd               // the other pods of the namespace that are given, and perhaps some of others
	reason    explain.Reason       // for the state of the Job
	deleted   map[types.UID]string // the pods that the decision deletes
	created   time.Time            // the last SuccessfulCreate event of the Job
	owners    []owner              // the controllers above the Job, the next one first
	symptoms  []*symptom           // of active pods
	change    time.Time            // the last one of the Job and its pods
	refusal   string               // the message with which the API server refuses pods
	refusedBy *corev1.Event        // with that message
	kueue     string               // the state of Kueue's Workload
	says      string               // the message of the Workload
	digest    Digest               // of the failed pods
	failure   found                // why the Job has failed
	template  []object             // the containers of the pod template; filled when it is asked for
	holding   map[string]string    // by resource, who has most of it; filled when it is asked for
	clues     map[[2]string]clue   // by container and message; the same
	broken    *bool                // see meantBroken; the same
}

// record is the classification of a pod of the Job.
type record = decide.PodFacts

// newFacts returns the facts of a decision; nil for the zero Decision.
func newFacts(d decide.Decision, evidence []Evidence) *facts {
	from := d.Facts()
	if from == nil {
		return nil
	}
	f := &facts{Facts: from, world: newWorld(evidence), explained: explain.Of(d), decision: d, pods: from.Pods(),
		others: from.Others(), deleted: make(map[types.UID]string, len(d.Delete)), holding: map[string]string{},
		clues: map[[2]string]clue{}}
	f.near = f.around[f.Job.Namespace]
	if f.near == nil {
		f.near = crowdOf(either(len(f.around) > 0, nil, f.others))
	}
	f.reason = f.explained.Job()
	for _, gone := range d.Delete {
		f.deleted[gone.Pod.UID] = gone.Cause
	}
	f.owners = f.ownersOf(f.Job)
	f.created = timeOf(lastEvent(f.events[f.Job.UID], reasonIs("SuccessfulCreate")))
	f.symptoms = f.findSymptoms()
	f.kueue, f.says = f.workloadSays()
	f.change = f.lastChange()
	f.digest = f.digestFailures()
	f.refusedBy = f.lastRefusal()
	if f.refusedBy != nil {
		f.refusal = strings.TrimPrefix(oneLine(f.refusedBy.Message), "Error creating: ")
	}
	if finished(f.Job).Code != "" && !hasSucceeded(f.Job) {
		f.failure = f.whyFailed()
	}
	return f
}

func (f *facts) suspended() bool { return *cmp.Or(f.Job.Spec.Suspend, new(bool)) }

// countsRestarts reports whether restarts of containers count as failures.
func (f *facts) countsRestarts() bool {
	return f.Job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
}

// deadline returns when the Job was to fail by its deadline, if it has one.
func (f *facts) deadline() time.Time {
	start, seconds := cmp.Or(f.Job.Status.StartTime, &metav1.Time{}), f.Job.Spec.ActiveDeadlineSeconds
	return cmp.Or(start.Time, f.Now).Add(time.Duration(max(0, *cmp.Or(seconds, new(int64)))) * time.Second)
}

// goesOn reports whether the Job has not ended, and is not about to.
func (f *facts) goesOn() bool {
	return jobstatus.Finished(f.Job) == nil && f.Job.DeletionTimestamp == nil && f.End.Condition.Type == ""
}

// finished says how a Job has ended; it is zero if the Job has not.
func finished(job *batchv1.Job) explain.Reason {
	end := jobstatus.OutcomeOf(job)
	text := joined(": ", fmt.Sprintf("the Job is %s", end.Phase), end.Reason, end.Message)
	return either(end.Terminal(), explain.Reason{Code: explain.JobFinished, Text: text}, explain.Reason{})
}

func (f *facts) textDeletes() string { return also("deleting ", len(f.decision.Delete), "pod", "") }

// notReady says since when a node has been NotReady; it is empty if the node is ready or not given, or has
// been NotReady for a short time only.
func (f *facts) notReady(name string) string {
	c := f.readyCondition(name)
	since := c.LastTransitionTime.Time
	not := c.Type != "" && c.Status != corev1.ConditionTrue && (since.IsZero() || f.overdue(since))
	return textIf(not, joined(": ", "node "+name+" has been NotReady since "+f.clock(since), f.kubeletSays(name)))
}

// kubeletSays returns why a node is not ready by its kubelet, which runs: say, PLEG or CNI. It is empty if the kubelet
// does not answer.
func (f *facts) kubeletSays(node string) string {
	c := f.readyCondition(node)
	return textIf(c.Status == corev1.ConditionFalse, oneLine(c.Message))
}

// readyCondition returns the condition Ready of a node; the zero condition if the input lacks it.
func (w *world) readyCondition(name string) corev1.NodeCondition {
	return firstOf(cmp.Or(w.nodes[name], &corev1.Node{}).Status.Conditions,
		func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

func hasSucceeded(job *batchv1.Job) bool { return jobstatus.OutcomeOf(job).Phase == jobstatus.Complete }

// recreated finds that the pods are controlled by a Job with the same name and another UID,
// and that this Job still has none.
func (f *facts) recreated() (c found) {
	job := f.Job
	created := job.CreationTimestamp.Time
	if len(f.pods) > 0 || !created.IsZero() && !f.overdue(created) {
		return c
	}
	for _, pod := range f.others {
		owner := metav1.GetControllerOfNoCopy(pod)
		if pod.Namespace == job.Namespace && owner != nil && owner.Kind == "Job" && owner.Name == job.Name &&
			owner.UID != job.UID {
			c.pods = append(c.pods, pod.Name)
		}
	}
	c.text = textIf(len(c.pods) > 0,
		fmt.Sprintf("an earlier Job named %s owns %s; this Job was created %s and has no pods",
			job.Name, count(len(c.pods), "pod"), f.ago(created)))
	return c
}

// podsMissing returns the finder for pods that the status counts and the snapshot lacks. If it does not lack all, the
// status may be about to change.
func podsMissing(all bool) func(*facts) found {
	return func(f *facts) (c found) {
		status, pods := &f.Job.Status, len(f.pods)
		terminating := int(*cmp.Or(status.Terminating, new(int32)))
		counted := int(status.Active) + terminating
		if f.refusedBy == nil && counted > pods && f.reason.Code != explain.JobFinished && all == (pods == 0) &&
			(all || f.overdue(f.change)) {
			c.text = "the status counts " + count(counted, "pod") + " as active" +
				textIf(terminating > 0, " or terminating") + ", but " + either(all, "none", fmt.Sprint(pods)) +
				" of them " + either(pods > 1, "were", "was") + " given"
		}
		return c
	}
}

// backoffUnknown finds that the status counts failures whose pods were not given, so that the next pod may wait for
// longer. If none was given, only the managed fields show whether the status has changed since; kubectl hides them.
func (f *facts) backoffUnknown() string {
	job, given, longest := f.Job, f.failedGiven(), f.Spec.Delays.Delay(f.Progress.Failed)
	over := len(job.ManagedFields) > 0 && f.overdue(f.change.Add(longest))
	wait, text := "for up to "+duration.HumanDuration(longest), "none of the pods was given"
	if given > 0 {
		until := f.explained.LastFailure().At.Add(f.Spec.Delays.Delay(f.Progress.Failed))
		over = !until.After(f.Now)
		wait, text = "until "+f.clock(until), fmt.Sprintf("only %d of the pods %s", given, either(given == 1, "was",
			"were")+" given")
	}
	return textIf(len(f.decision.Create) > 0 && f.Progress.Failed > given && !over &&
		(len(f.pods) == 0 || !f.PerIndex()),
		count(f.Progress.Failed, "failure")+" counted, and "+text+": the controller may wait "+wait+
			" before it creates "+count(len(f.decision.Create), "pod"))
}

// failedGiven returns the number of pods given that count as failed.
func (f *facts) failedGiven() (n int32) {
	for _, r := range f.pods {
		if r.Failed && r.Valid && !r.Ignored() {
			n++
		}
	}
	return n
}

// deletionOverdue says that finalizers keep the Job from being deleted.
func (f *facts) deletionOverdue() string {
	job := f.Job
	if job.DeletionTimestamp == nil || len(job.Finalizers) == 0 {
		return ""
	}
	pods := textIf(slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents), f.terminationOverdue().text)
	return textIf(f.overdue(job.DeletionTimestamp.Time), joined("; ",
		"the Job should have been deleted "+f.ago(job.DeletionTimestamp.Time)+
			", but has "+either(len(job.Finalizers) > 1, "the finalizers ", "the finalizer ")+
			strings.Join(job.Finalizers, ", "), pods, textIf(f.namespaceEnds(), "namespace "+job.Namespace+
			" is being deleted, too")))
}

// lastRefusal returns the event with which the API server refuses to create the missing pods; nil if
// there is none, or if it is not recent and a pod was created after it.
func (f *facts) lastRefusal() *corev1.Event {
	event := lastEvent(f.events[f.Job.UID], reasonIs("FailedCreate"))
	if event == nil || len(f.decision.Create) == 0 || event.Message == "" {
		return nil
	}
	at := timeOf(event)
	if f.past(at, longPatience) && at.Before(f.change) || f.overdue(at) && f.createdAfter(at) {
		return nil
	}
	return event
}

// createdAfter reports whether the controller has created a pod of the Job after a time.
func (f *facts) createdAfter(t time.Time) bool {
	created := func(r *record) bool { return r.Pod.CreationTimestamp.After(t) }
	return f.created.After(t) || slices.ContainsFunc(f.pods, created)
}

// creationOverdue finds pods whose creation has been due since the last known change and
// the end of their backoff.
func (f *facts) creationOverdue() string {
	change := f.change
	if !f.PerIndex() && f.Plan.Record.Failures > 0 {
		failures := either(f.failedGiven() < f.Progress.Failed, f.Progress.Failed, f.Plan.Record.Failures)
		change = latest(change, f.Plan.Record.LastFailure.Add(f.Spec.Delays.Delay(failures)))
	}
	first, n := f.Now, 0
	for i := range f.decision.Create {
		due := change
		if failed := f.Predecessor(f.decision.Create[i].Index); failed != nil {
			due = latest(due, failed.Finish().Add(f.Spec.Delays.Delay(failed.Failures)))
		}
		if f.overdue(due) {
			first = earliest(first, due)
			n++
		}
	}
	return textIf(n > 0, count(n, "pod")+" should have been created "+f.ago(first))
}

// terminationOverdue finds the pods that should have terminated. A pod that has terminated
// but has a foreign finalizer matters only if the Job is being deleted, which it blocks.
func (f *facts) terminationOverdue() (c found) {
	var late []*corev1.Pod
	for _, r := range f.pods {
		if pod := r.Pod; pod.DeletionTimestamp != nil && f.overdue(pod.DeletionTimestamp.Time) &&
			(r.Terminating || f.Job.DeletionTimestamp != nil && f.foreignFinalizers(pod) != "") {
			late, c.pods = append(late, pod), append(c.pods, pod.Name)
		}
	}
	if len(late) == 0 {
		return c
	}
	first := slices.MinFunc(late,
		func(a, b *corev1.Pod) int { return a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time) })
	who, finalizers := joined(" on node ", "pod "+first.Name, first.Spec.NodeName), f.foreignFinalizers(first)
	ago := f.ago(first.DeletionTimestamp.Time)
	var says string
	if e := lastEvent(f.events[first.UID], isWarning); e != nil {
		says = joined(": ", e.Reason, oneLine(e.Message))
	}
	should := either(hasEnded(first), " should have been deleted", " should have terminated")
	text := either(len(late) > 1, fmt.Sprintf("%s%s, the first (%s) %s",
		count(len(late), "pod"), should, who, ago), who+should+" "+ago)
	c.text = joined("; ", text, f.notReady(first.Spec.NodeName),
		textIf(finalizers != "", "the pod has the finalizer "+finalizers), says)
	c.node = late[0].Spec.NodeName
	return c
}

// foreignFinalizers returns the finalizers of a pod other than the Job controller's.
func (f *facts) foreignFinalizers(pod *corev1.Pod) string {
	own := f.Spec.Keys.Finalizer
	return strings.Join(slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(name string) bool { return name == own }), ", ")
}

// overdue reports whether a step that was due at this time is late enough to be a cause.
// The zero time is never overdue.
func (f *facts) overdue(due time.Time) bool { return f.past(due, patience) }

// past reports whether t was at least that long ago. The zero time was not.
func (f *facts) past(t time.Time, ago time.Duration) bool {
	return !t.IsZero() && f.Now.Sub(t) >= ago
}

// lastChange returns the latest time in the Job, its pods and its Workload, at most now. It is now if the spec has
// changed since at a time that nothing shows.
func (f *facts) lastChange() time.Time {
	if f.changedUnseen() {
		return f.Now
	}
	last := latest(f.created, f.resumed())
	see := func(t *metav1.Time) { last = latest(last, cmp.Or(t, &metav1.Time{}).Time) }
	job := f.Job
	see(&job.CreationTimestamp)
	see(job.Status.StartTime)
	for i := range job.Status.Conditions {
		see(&job.Status.Conditions[i].LastTransitionTime)
	}
	for i := range job.ManagedFields {
		see(job.ManagedFields[i].Time)
	}
	for _, r := range f.pods {
		see(&r.Pod.CreationTimestamp)
		see(r.Pod.DeletionTimestamp)
		for i := range r.Pod.Status.Conditions {
			see(&r.Pod.Status.Conditions[i].LastTransitionTime)
		}
		for _, c := range slices.Concat(r.Pod.Status.ContainerStatuses, r.Pod.Status.InitContainerStatuses) {
			for _, state := range []corev1.ContainerState{c.State, c.LastTerminationState} {
				see(&cmp.Or(state.Running, &corev1.ContainerStateRunning{}).StartedAt)
				see(&cmp.Or(state.Terminated, &corev1.ContainerStateTerminated{}).FinishedAt)
			}
		}
	}
	return earliest(last, f.Now)
}

// resumed returns when Kueue or the Job controller last said that the Job was admitted or resumed; zero if neither did.
func (f *facts) resumed() time.Time {
	return latest(timeOf(lastEvent(f.events[f.Job.UID], reasonIs("Started", "Resumed"))), f.admitted())
}

// changedUnseen reports whether the spec has changed and nothing shows when: kubectl hides the managed fields. Of a
// suspended Job the change is that it was resumed, which the status shows once the controller has acted.
func (f *facts) changedUnseen() bool {
	job, first := f.Job, int64(1)
	if job.DeletionTimestamp != nil {
		first++ // the deletion counts as a change of the spec
	}
	c := firstOf(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	switch {
	case len(job.ManagedFields) > 0:
		return false
	case c.Type == "":
		return job.Generation > first
	}
	return c.Status == corev1.ConditionTrue && !f.suspended() && !f.resumed().After(c.LastTransitionTime.Time)
}

// deadlineOverdue says that the deadline has passed, and the Job was not failed.
func (f *facts) deadlineOverdue() string {
	return textIf(f.pastDeadline() && f.overdue(f.deadline()),
		"the deadline passed "+f.ago(f.deadline())+", and the Job has no condition FailureTarget")
}

func (f *facts) pastDeadline() bool {
	return f.End.Condition.Reason == batchv1.JobReasonDeadlineExceeded && !f.EndStored()
}

// endOverdue says that the next condition, the interim or the terminal one, should have been written since the last
// change.
func (f *facts) endOverdue() string {
	due := f.change
	if f.pastDeadline() {
		due = latest(due, f.deadline())
	}
	waits := f.EndStored() && f.Progress.Active+f.Progress.Terminating > 0
	return textIf(f.End.Condition.Type != "" && !waits && f.overdue(due),
		"the Job should have "+either(f.End.Condition.Type == batchv1.JobSuccessCriteriaMet, "succeeded", "failed")+" "+
			f.ago(due)+": "+f.End.Condition.Reason+f.textLeft())
}

// textLeft says how many pods the status has recorded, but whose finalizers were not removed.
func (f *facts) textLeft() string {
	n := 0
	for _, r := range f.pods {
		if r.Listed && f.Spec.Keys.HasFinalizer(r.Pod) {
			n++
		}
	}
	return also("", n, "pod", either(n == 1, " is", " are")+" recorded and still "+either(n == 1, "has", "have")+
		" the finalizer "+f.Spec.Keys.Finalizer)
}

// finalizersLeft finds pods of a Job that has ended which cannot be deleted, because the controller has not removed its
// finalizer.
func finalizersLeft(f *facts) (c found) {
	since := f.Now
	for _, p := range f.pods {
		if at := p.Pod.DeletionTimestamp; jobstatus.Finished(f.Job) != nil && at != nil && f.overdue(at.Time) &&
			f.Spec.Keys.HasFinalizer(p.Pod) {
			since, c.pods = earliest(since, at.Time), append(c.pods, p.Pod.Name)
		}
	}
	c.text = textIf(len(c.pods) > 0, count(len(c.pods), "pod")+" should have been deleted "+f.ago(since)+
		", and the finalizer "+f.Spec.Keys.Finalizer+" was not removed")
	return c
}

func (f *facts) ttlOverdue() string {
	at := firstOf(f.explained.Waits(), func(w explain.Reason) bool { return w.Code == explain.WaitTTL }).Until
	seconds := *cmp.Or(f.Job.Spec.TTLSecondsAfterFinished, new(int32))
	return textIf(f.overdue(at) && f.Job.DeletionTimestamp == nil, "the Job has ended and should have been deleted "+
		f.ago(at)+": spec.ttlSecondsAfterFinished is "+fmt.Sprint(seconds))
}

// namespaceEnds reports whether the Job's namespace is given, and is being deleted.
func (f *facts) namespaceEnds() bool {
	return f.find("Namespace", "", f.Job.Namespace).text("status", "phase") == "Terminating"
}

// namespaceTerminating says that the Job's namespace is being deleted, if it is given.
func (f *facts) namespaceTerminating() string {
	o := f.find("Namespace", "", f.Job.Namespace)
	return textIf(f.namespaceEnds() && f.goesOn(), joined(": ",
		"namespace "+f.Job.Namespace+" is being deleted, so no pod can be created",
		o.condition("NamespaceContentRemaining").text("message"),
		o.condition("NamespaceFinalizersRemaining").text("message")))
}

// queued says that Kueue holds the Job suspended, and why.
func (f *facts) queued() string {
	queue := f.queue()
	if f.reason.Code != explain.JobSuspended {
		return ""
	}
	says, stopped := f.says, f.stoppedByKueue()
	switch {
	case queue == "" && says == "":
		return ""
	case !f.admitted().IsZero():
		return textIf(!f.ownerResumed(), "Kueue resumes the Job: "+oneLine(says))
	}
	return joined("; ", joined(" until ", "Kueue holds the Job suspended", queue), oneLine(says),
		textIf(says == "" && stopped != "", "Kueue stopped it: "+oneLine(stopped))) + f.textDeletes()
}

// podNamed returns a pod of the Job; nil if it is not given.
func (f *facts) podNamed(name string) *corev1.Pod {
	r := firstOf(f.pods, func(r *record) bool { return r.Pod.Name == name && name != "" })
	return cmp.Or(r, &record{}).Pod
}

// managerSilent says that the controller that manages the Job has written nothing to its status.
func (f *facts) managerSilent() string {
	name, status := cmp.Or(f.Job.Spec.ManagedBy, new(string)), &f.Job.Status
	created := f.Job.CreationTimestamp.Time
	waits := f.suspended() && *name == multiKueue
	written := status.StartTime != nil || len(status.Conditions) > 0 || status.Active+status.Failed+status.Succeeded > 0
	other := *name != "" && *name != batchv1.JobControllerName
	return textIf(other && !waits && !written && f.past(created, longPatience),
		"the controller "+*name+" manages the Job and has written no status since its creation "+f.ago(created))
}
