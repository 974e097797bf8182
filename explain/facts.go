package explain

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
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

// facts holds the decision and the evidence, prepared for the answers of an Explanation.
type facts struct {
	*decide.Facts
	world
	decision decide.Decision
	pods     []*record            // of the Job, by index and UID
	others   []*corev1.Pod        // the pods of other owners
	reason   Reason               // for the state of the Job
	deleted  map[types.UID]string // the pods that the decision deletes
	created  time.Time            // the last SuccessfulCreate event of the Job
	owners   []owner              // the controllers above the Job, the next one first
}

// record is the classification of a pod of the Job.
type record = tracking.PodRecord

// newFacts returns the facts of a decision; nil for the zero Decision.
func newFacts(d decide.Decision, evidence []Evidence) *facts {
	from := d.Facts()
	if from == nil {
		return nil
	}
	f := &facts{Facts: from, world: newWorld(evidence), decision: d, pods: from.Pods(), others: from.Others(),
		deleted: make(map[types.UID]string, len(d.Delete))}
	f.reason = f.decided()
	for _, gone := range f.decision.Delete {
		f.deleted[gone.Pod.UID] = gone.Cause
	}
	if len(f.Job.OwnerReferences) > 0 {
		f.owners = f.world.ownersOf(f.Job.OwnerReferences)
	}
	if e := lastEvent(f.events[f.Job.UID], reasonIs("SuccessfulCreate")); e != nil {
		f.created = timeOf(e)
	}
	return f
}

// notReady says since when a node has been NotReady; it is empty if the node is ready or not given, or has
// been NotReady for a short time only.
func (f *facts) notReady(name string) string {
	node := f.nodes[name]
	if node == nil {
		return ""
	}
	since, not := notReadySince(node)
	switch {
	case not && since.IsZero() && readyCondition(node) == nil:
		return "node " + node.Name + " is NotReady"
	case not && (since.IsZero() || f.overdue(since)):
		return "node " + node.Name + " has been NotReady since " + f.clock(since)
	}
	return ""
}

// notReadySince returns since when a node has not been ready; zero if that is not known, or it is
// ready.
func (f *facts) notReadySince(name string) (since time.Time) {
	if node := f.nodes[name]; node != nil {
		since, _ = notReadySince(node)
	}
	return since
}

func notReadySince(node *corev1.Node) (since time.Time, not bool) {
	c := readyCondition(node)
	if c == nil {
		return since, true
	}
	return c.LastTransitionTime.Time, c.Status != corev1.ConditionTrue
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c
		}
	}
	return nil
}

// finding is a cause in the Job, with the names of the pods affected.
type finding struct {
	Reason
	pods []string
	mild bool
}

func hasSucceeded(job *batchv1.Job) bool { return jobstatus.OutcomeOf(job).Phase == jobstatus.Complete }

// recreated finds that the pods are controlled by a Job with the same name and another UID,
// and that this Job still has none.
func (f *facts) recreated() (c finding) {
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
	c.Reason = when(len(c.pods) > 0, CauseRecreated,
		fmt.Sprintf("an earlier Job named %s owns %s; this Job was created %s and has no pods",
			job.Name, count(len(c.pods), "pod"), f.ago(created)))
	return c
}

// podsMissing finds that the status counts more pods than the snapshot has. If it has some, the
// status may be about to change.
func (f *facts) podsMissing(change time.Time) Reason {
	status, pods := &f.Job.Status, len(f.pods)
	terminating := int(*cmp.Or(status.Terminating, new(int32)))
	counted := int(status.Active) + terminating
	return when(counted > pods && f.reason.Code != JobFinished && (pods == 0 || f.overdue(change)), CausePodsMissing,
		"the status counts "+count(counted, "pod")+" as active"+textIf(terminating > 0, " or terminating")+
			", but "+either(pods == 0, "none", fmt.Sprint(pods))+" of them "+either(pods > 1, "were", "was")+" given")
}

// backoffUnknown finds that the status counts failures whose pods were not given, so that the next pod may wait for
// longer. If none was given, only the managed fields show whether the status has changed since; kubectl hides them.
func (f *facts) backoffUnknown(change time.Time) Reason {
	job, given, longest := f.Job, f.failedGiven(), f.Delays.Delay(math.MaxInt32)
	over := len(job.ManagedFields) > 0 && f.overdue(change.Add(longest))
	wait, text := "for up to "+duration.HumanDuration(longest), "none of the pods was given"
	if given > 0 {
		until := f.lastFailed().Finish().Add(f.Delays.Delay(f.Failed))
		over = !until.After(f.Now)
		wait, text = "until "+f.clock(until), fmt.Sprintf("only %d of the pods %s", given, either(given == 1, "was",
			"were")+" given")
	}
	return when(len(f.decision.Create) > 0 && f.Failed > given && !over &&
		(len(f.pods) == 0 || !f.PerIndex()), CauseBackoffUnknown,
		count(f.Failed, "failure")+" counted, and "+text+": the controller may wait "+wait+" before it creates "+
			count(len(f.decision.Create), "pod"))
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

// deletionOverdue finds that finalizers keep the Job from being deleted.
func (f *facts) deletionOverdue() Reason {
	job := f.Job
	if job.DeletionTimestamp == nil || len(job.Finalizers) == 0 {
		return Reason{}
	}
	pods := textIf(slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents), f.terminationOverdue().Text)
	return when(f.overdue(job.DeletionTimestamp.Time), CauseDeletionOverdue, joined("; ",
		"the Job should have been deleted "+f.ago(job.DeletionTimestamp.Time)+
			", but has "+either(len(job.Finalizers) > 1, "the finalizers ", "the finalizer ")+
			strings.Join(job.Finalizers, ", "), pods))
}

// refusal returns the event with which the API server refuses to create the missing pods; nil if
// there is none, or if it is not recent and a pod was created after it.
func (f *facts) refusal(change time.Time) *corev1.Event {
	event := lastEvent(f.events[f.Job.UID], reasonIs("FailedCreate"))
	if event == nil || len(f.decision.Create) == 0 || event.Message == "" {
		return nil
	}
	at := timeOf(event)
	if f.past(at, longPatience) && at.Before(change) || f.overdue(at) && f.createdAfter(at) {
		return nil
	}
	return event
}

// createdAfter reports whether the controller has created a pod of the Job after a time.
func (f *facts) createdAfter(t time.Time) bool {
	for _, r := range f.pods {
		if r.Pod.CreationTimestamp.After(t) {
			return true
		}
	}
	return f.created.After(t)
}

// creationOverdue finds pods whose creation has been due since the last known change and
// the end of their backoff.
func (f *facts) creationOverdue(change time.Time) Reason {
	if !f.PerIndex() && f.Record.Failures > 0 {
		failures := either(f.failedGiven() < f.Failed, f.Failed, f.Record.Failures)
		change = latest(change, f.Record.LastFailure.Add(f.Delays.Delay(failures)))
	}
	first, n := f.Now, 0
	for i := range f.decision.Create {
		due := change
		if failed := f.Predecessor(f.decision.Create[i].Index); failed != nil {
			due = latest(due, failed.Finish().Add(f.Delays.Delay(failed.Counts.Next(true).Total())))
		}
		if f.overdue(due) {
			first = earliest(first, due)
			n++
		}
	}
	return when(n > 0, CauseCreationOverdue, count(n, "pod")+" should have been created "+f.ago(first))
}

// terminationOverdue finds the pods that should have terminated. A pod that has terminated
// but has a foreign finalizer matters only if the Job is being deleted, which it blocks.
func (f *facts) terminationOverdue() (c finding) {
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
	text := either(len(late) > 1, fmt.Sprintf("%s should have terminated, the first (%s) %s",
		count(len(late), "pod"), who, ago), who+" should have terminated "+ago)
	c.Reason = Reason{Code: CauseTerminationOverdue, Text: joined("; ", text, f.notReady(first.Spec.NodeName),
		textIf(finalizers != "", "the pod has the finalizer "+finalizers), says)}
	c.mild = f.goesOn() && (!f.ReplaceFailedOnly || f.Suspended)
	return c
}

// foreignFinalizers returns the finalizers of a pod other than the Job controller's.
func (f *facts) foreignFinalizers(pod *corev1.Pod) string {
	own := f.Keys.Finalizer
	return strings.Join(slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(name string) bool { return name == own }), ", ")
}

// ago says how long ago something was.
func (f *facts) ago(t time.Time) string { return duration.HumanDuration(max(0, f.Now.Sub(t))) + " ago" }

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
func (f *facts) resumed() (at time.Time) {
	if e := lastEvent(f.events[f.Job.UID], reasonIs("Started", "Resumed")); e != nil {
		at = timeOf(e)
	}
	return latest(at, f.admitted())
}

// changedUnseen reports whether the spec has changed and nothing shows when: kubectl hides the managed fields. Of a
// suspended Job the change is that it was resumed, which the status shows once the controller has acted.
func (f *facts) changedUnseen() bool {
	job, first := f.Job, int64(1)
	if job.DeletionTimestamp != nil {
		first++ // the deletion counts as a change of the spec
	}
	i := slices.IndexFunc(job.Status.Conditions,
		func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	switch {
	case len(job.ManagedFields) > 0:
		return false
	case i < 0:
		return job.Generation > first
	}
	c := &job.Status.Conditions[i]
	return c.Status == corev1.ConditionTrue && !f.Suspended && !f.resumed().After(c.LastTransitionTime.Time)
}

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" }), separator)
}

// oneLine puts a message on one line, without what client-go puts before the last of many events.
func oneLine(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	return strings.Join(strings.Fields(strings.ToValidUTF8(message, "")), " ")
}

// read prepares what the rows of the table read besides the facts.
func (f *facts) read() *reading {
	change := f.lastChange()
	r := &reading{facts: f, change: change}
	if !hasSucceeded(f.Job) {
		r.symptoms = f.symptoms()
	}
	r.workload, r.says = f.workloadSays()
	r.refusedBy = f.refusal(change)
	if r.refusedBy != nil {
		at, missing := timeOf(r.refusedBy), len(f.decision.Create)
		r.refusal = strings.TrimPrefix(oneLine(r.refusedBy.Message), "Error creating: ")
		r.creation.Text = count(missing, "pod") + " cannot be created" +
			textIf(f.overdue(at), ", as of "+f.ago(at)) + ": " + r.refusal + f.usage(r.refusal)
		return r
	}
	r.creation.Reason = cmp.Or(f.podsMissing(change), f.backoffUnknown(change), f.creationOverdue(change))
	r.creation.mild = r.creation.Code == CausePodsMissing && len(f.pods) > 0
	return r
}

// deadlineOverdue says that the deadline has passed, and the Job was not failed.
func (f *facts) deadlineOverdue() string {
	return textIf(f.pastDeadline() && f.overdue(f.Deadline),
		"the deadline passed "+f.ago(f.Deadline)+", and the Job has no condition FailureTarget")
}

func (f *facts) pastDeadline() bool {
	return f.Ending.Reason == batchv1.JobReasonDeadlineExceeded && !f.EndStored
}

// endOverdue says that the next condition, the interim or the terminal one, should have been written since the last
// change.
func (f *facts) endOverdue(due time.Time) string {
	if f.pastDeadline() {
		due = latest(due, f.Deadline)
	}
	waits := f.EndStored && f.Active+f.Terminating > 0
	return textIf(f.Ending.Type != "" && !waits && f.overdue(due),
		"the Job should have "+f.ends("succeeded", "failed")+" "+f.ago(due)+": "+f.Ending.Reason+f.textLeft())
}

// textLeft says how many pods the status has recorded, but whose finalizers were not removed.
func (f *facts) textLeft() string {
	n := 0
	for _, r := range f.pods {
		if r.Listed && f.Keys.HasFinalizer(r.Pod) {
			n++
		}
	}
	return also("", n, "pod", either(n == 1, " is", " are")+" recorded and still "+either(n == 1, "has", "have")+
		" the finalizer "+f.Keys.Finalizer)
}

// finalizersLeft finds pods of a Job that has ended which cannot be deleted, because the controller has not removed its
// finalizer.
func finalizersLeft(r *reading) (c found) {
	since := r.Now
	for _, p := range r.pods {
		if at := p.Pod.DeletionTimestamp; jobstatus.Finished(r.Job) != nil && at != nil && r.overdue(at.Time) &&
			r.Keys.HasFinalizer(p.Pod) {
			since, c.pods = earliest(since, at.Time), append(c.pods, p.Pod.Name)
		}
	}
	c.text = textIf(len(c.pods) > 0, count(len(c.pods), "pod")+" should have been deleted "+r.ago(since)+
		", and the finalizer "+r.Keys.Finalizer+" was not removed")
	return c
}

// goneAt returns when a Job that has ended is deleted; zero if it is kept, or has not ended.
func (f *facts) goneAt() (at time.Time) {
	ttl := f.Job.Spec.TTLSecondsAfterFinished
	end := jobstatus.Finished(f.Job)
	if ttl != nil && end != nil && !end.LastTransitionTime.IsZero() {
		at = end.LastTransitionTime.Add(time.Duration(*ttl) * time.Second)
	}
	return at
}

func (f *facts) ttlOverdue() string {
	at := f.goneAt()
	return textIf(f.overdue(at), "the Job has ended and should have been deleted "+f.ago(at)+
		": spec.ttlSecondsAfterFinished is "+fmt.Sprint(*cmp.Or(f.Job.Spec.TTLSecondsAfterFinished, new(int32))))
}

// namespaceTerminating says that the Job's namespace is being deleted, if it is given.
func (f *facts) namespaceTerminating() string {
	o := f.find("Namespace", "", f.Job.Namespace)
	return textIf(o.text("status", "phase") == "Terminating" && f.goesOn(), joined(": ",
		"namespace "+f.Job.Namespace+" is being deleted, so no pod can be created",
		o.condition("NamespaceContentRemaining").text("message"),
		o.condition("NamespaceFinalizersRemaining").text("message")))
}

// queued says that Kueue holds the Job suspended, and why.
func (f *facts) queued() string {
	queue := f.queue()
	if f.reason.Code != JobSuspended {
		return ""
	}
	_, says := f.workloadSays()
	stopped := f.stoppedByKueue()
	switch {
	case queue == "" && says == "":
		return ""
	case !f.admitted().IsZero():
		return textIf(!f.ownerResumed(), "Kueue resumes the Job: "+oneLine(says))
	}
	return joined("; ", joined(" until ", "Kueue holds the Job suspended", queue), oneLine(says),
		textIf(says == "" && stopped != "", "Kueue stopped it: "+oneLine(stopped))) + f.textDeletes()
}

// nodeOf returns the node of the first of the pods.
func (f *facts) nodeOf(names []string) string {
	for _, r := range f.pods {
		if len(names) > 0 && r.Pod.Name == names[0] {
			return r.Pod.Spec.NodeName
		}
	}
	return ""
}

// managerSilent says that the controller that manages the Job has written nothing to its status.
func (f *facts) managerSilent() string {
	name, status := cmp.Or(f.Job.Spec.ManagedBy, new(string)), &f.Job.Status
	created := f.Job.CreationTimestamp.Time
	waits := f.Suspended && *name == multiKueue
	written := status.StartTime != nil || len(status.Conditions) > 0 || status.Active+status.Failed+status.Succeeded > 0
	other := *name != "" && *name != batchv1.JobControllerName
	return textIf(other && !waits && !written && f.past(created, longPatience),
		"the controller "+*name+" manages the Job and has written no status since its creation "+f.ago(created))
}

// quotaName matches the quota in the message of a refusal.
var quotaName = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.+), used: `)

// usage says what the quota of a refusal has left now, if it is given.
func (f *facts) usage(refusal string) string {
	m := quotaName.FindStringSubmatch(refusal)
	if m == nil {
		return ""
	}
	var now []string
	status := f.find("ResourceQuota", f.Job.Namespace, m[1]).at("status")
	for part := range strings.SplitSeq(m[2], ",") {
		resource, _, _ := strings.Cut(part, "=")
		if hard := status.text("hard", resource); hard != "" {
			now = append(now, status.text("used", resource)+" of "+hard+" "+resource)
		}
	}
	return textIf(len(now) > 0, "; now "+strings.Join(now, ", ")+" are used")
}
