package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

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

// The labels and values that Kueue sets on Jobs.
const (
	kueueQueue    = "kueue.x-k8s.io/queue-name" // a label; once an annotation
	kueueWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	multiKueue    = "kueue.x-k8s.io/multikueue" // in spec.managedBy
)

// Evidence is additional information besides the snapshot. All of it is optional. Objects
// that do not concern the Job are ignored. Events are about the object whose UID they name.
type Evidence struct {
	// Events of the Job and of its pods show why a pod is not created or does not start.
	Events []*corev1.Event
	// Nodes show why a pod does not run or does not terminate.
	Nodes []*corev1.Node
}

// facts are the decision and the evidence, prepared for the answers of an Explanation.
type facts struct {
	*decision
	reason   Reason                      // for the state of the Job
	deleted  map[types.UID]string        // the pods that the decision deletes
	notReady map[string]string           // what is wrong with a node, by its name
	events   map[types.UID]*corev1.Event // the last about a pod, and the last FailedCreate of the Job
	created  time.Time                   // the last SuccessfulCreate event of the Job
}

func newFacts(d *decision, evidence []Evidence) *facts {
	f := &facts{decision: d, deleted: make(map[types.UID]string, len(d.deletes))}
	if len(evidence) > 0 {
		f.notReady, f.events = map[string]string{}, map[types.UID]*corev1.Event{}
	}
	f.reason = f.decided()
	for _, gone := range f.deletes {
		f.deleted[gone.pod.UID] = gone.cause
	}
	for _, given := range evidence {
		for _, node := range given.Nodes {
			if node != nil {
				f.notReady[node.Name] = f.textNotReady(node)
			}
		}
		for _, event := range given.Events {
			switch {
			case event == nil:
			case event.InvolvedObject.UID == f.job.UID && event.Reason == "SuccessfulCreate":
				f.created = latest(f.created, timeOf(event))
			case event.InvolvedObject.Kind == "Job" && event.Reason != "FailedCreate":
			default:
				if last := f.events[event.InvolvedObject.UID]; last == nil || timeOf(event).After(timeOf(last)) {
					f.events[event.InvolvedObject.UID] = event
				}
			}
		}
	}
	return f
}

// textNotReady says since when a node has been NotReady; it is empty if the node is ready, or has
// been NotReady for a short time only.
func (f *facts) textNotReady(node *corev1.Node) string {
	text := "node " + node.Name + " is NotReady"
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			since := c.LastTransitionTime.Time
			text = textIf(c.Status != corev1.ConditionTrue && (since.IsZero() || f.overdue(since)),
				"node "+node.Name+" has been NotReady since "+f.clock(since))
		}
	}
	return text
}

// timeOf returns when an event last happened. The Event API has changed the fields that
// hold this time twice.
func timeOf(event *corev1.Event) time.Time {
	series := cmp.Or(event.Series, &corev1.EventSeries{})
	return cmp.Or(latest(event.LastTimestamp.Time, series.LastObservedTime.Time), event.EventTime.Time,
		event.FirstTimestamp.Time, event.CreationTimestamp.Time)
}

// findings returns the causes found, in no particular order; some may be zero.
func (f *facts) findings() []finding {
	job, end, failsAt, change := f.job, f.end, f.deadline, f.lastChange()
	suspended, queue := f.reason.Code == JobSuspended, f.queue()
	// The next condition, the interim or the terminal one, could have been written since then.
	endDue, pastDeadline := change, end.reason == batchv1.JobReasonDeadlineExceeded && !end.decided
	if pastDeadline {
		endDue = latest(change, failsAt)
	}
	waits := end.decided && f.active+f.terminating > 0
	creation := cmp.Or(f.refusal(change), f.podsMissing(change), f.backoffUnknown(change), f.creationOverdue(change))
	return append(f.symptoms(),
		finding{Reason: cmp.Or(finished(job), f.reason), mild: hasSucceeded(job)},
		f.recreated(),
		f.terminationOverdue(),
		finding{Reason: f.deletionOverdue()},
		finding{Reason: creation, mild: creation.Code == CausePodsMissing && f.known > 0},
		finding{Reason: when(pastDeadline && f.overdue(failsAt), CauseDeadlineOverdue,
			"the deadline passed "+f.ago(failsAt)+", and the Job has no condition FailureTarget")},
		finding{Reason: when(end.ends && !waits && f.overdue(endDue), CauseEndOverdue,
			"the Job should have "+f.ends("succeeded", "failed")+" "+f.ago(endDue)+": "+end.reason)},
		finding{Reason: when(suspended && queue != "", CauseQueuedByKueue,
			"Kueue holds the Job suspended until "+queue+f.textDeletes())},
	)
}

// queue says what must happen before Kueue resumes the Job; it is empty if Kueue does not manage it.
func (f *facts) queue() string {
	job := f.job
	queue, workload := cmp.Or(job.Labels[kueueQueue], job.Annotations[kueueQueue]), job.Labels[kueueWorkload]
	return cmp.Or(textIf(queue != "", "its queue "+queue+" admits it"),
		textIf(workload != "", "its workload "+workload+" is admitted"))
}

func hasSucceeded(job *batchv1.Job) bool { return jobstatus.OutcomeOf(job).Phase == jobstatus.Complete }

// recreated finds that the pods are controlled by a Job with the same name and another UID,
// and that this Job still has none.
func (f *facts) recreated() (c finding) {
	job := f.job
	created := job.CreationTimestamp.Time
	if f.known > 0 || !created.IsZero() && !f.overdue(created) {
		return c
	}
	for _, pod := range f.given() {
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
	status, pods := &f.job.Status, f.known
	terminating := int(*cmp.Or(status.Terminating, new(int32)))
	counted := int(status.Active) + terminating
	return when(counted > pods && f.reason.Code != JobFinished && (pods == 0 || f.overdue(change)), CausePodsMissing,
		"the status counts "+count(counted, "pod")+" as active"+textIf(terminating > 0, " or terminating")+
			", but the snapshot has "+
			either(pods == 0, "none", fmt.Sprint(pods))+" of the Job's pods")
}

// backoffUnknown finds that the status counts failures, but no pod shows when they happened. The
// last change is not before them if the managed fields show it; kubectl hides these.
func (f *facts) backoffUnknown(change time.Time) Reason {
	job, longest := f.job, f.delay(math.MaxInt32)
	failed := job.Status.Failed
	for r := range f.pods() {
		if r.Failed {
			failed = 0
		}
	}
	over := len(job.ManagedFields) > 0 && f.overdue(change.Add(longest))
	return when(len(f.creates) > 0 && failed > 0 && !over &&
		(f.known == 0 || !f.spec.perIndex), CauseBackoffUnknown,
		count(failed, "failure")+
			" counted, and none of the pods is in the snapshot: the controller may wait for up to "+
			duration.HumanDuration(longest)+" before it creates "+count(len(f.creates), "pod"))
}

// deletionOverdue finds that finalizers keep the Job from being deleted.
func (f *facts) deletionOverdue() Reason {
	job := f.job
	if job.DeletionTimestamp == nil || len(job.Finalizers) == 0 {
		return Reason{}
	}
	return when(f.overdue(job.DeletionTimestamp.Time), CauseDeletionOverdue,
		"the Job should have been deleted "+f.ago(job.DeletionTimestamp.Time)+
			", but has "+either(len(job.Finalizers) > 1, "the finalizers ", "the finalizer ")+
			strings.Join(job.Finalizers, ", "))
}

// refusal returns why the API server refuses to create the missing pods; zero if no event
// reports that, or if a pod was created after an event that is not recent.
func (f *facts) refusal(change time.Time) Reason {
	event, missing := f.events[f.job.UID], len(f.creates)
	if event == nil || missing == 0 {
		return Reason{}
	}
	at := timeOf(event)
	if f.past(at, longPatience) && at.Before(change) || f.overdue(at) && f.createdAfter(at) {
		return Reason{}
	}
	message := oneLine(strings.TrimPrefix(event.Message, "Error creating: "))
	text := count(missing, "pod") + " cannot be created" + textIf(f.overdue(at), ", as of "+f.ago(at)) + ": " + message
	return cmp.Or(
		when(strings.Contains(message, "exceeded quota"), CauseQuota, text),
		when(strings.Contains(message, "admission webhook") || strings.Contains(message, "calling webhook"),
			CauseWebhook, text),
		when(message != "", CauseCreationRefused, text),
	)
}

// createdAfter reports whether the controller has created a pod of the Job after a time.
func (f *facts) createdAfter(t time.Time) bool {
	for r := range f.pods() {
		if r.Pod.CreationTimestamp.After(t) {
			return true
		}
	}
	return f.created.After(t)
}

// creationOverdue finds pods whose creation has been due since the last known change and
// the end of their backoff.
func (f *facts) creationOverdue(change time.Time) Reason {
	if !f.spec.perIndex && f.failures > 0 {
		change = latest(change, f.lastFailure.Add(f.delay(f.failures)))
	}
	first, n := f.now, 0
	for _, index := range f.creates {
		due := change
		if failed := f.predecessor(index); failed != nil {
			due = latest(due, failed.Finish().Add(f.delay(failed.Counts.Next(true).Total())))
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
	for _, r := range f.inOrder() {
		if pod := r.Pod; pod.DeletionTimestamp != nil && f.overdue(pod.DeletionTimestamp.Time) &&
			(r.Terminating || f.job.DeletionTimestamp != nil && f.foreignFinalizers(pod) != "") {
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
	text := either(len(late) > 1, fmt.Sprintf("%s should have terminated, the first (%s) %s",
		count(len(late), "pod"), who, ago),
		who+" should have terminated "+ago)
	c.Reason = Reason{Code: CauseTerminationOverdue, Text: joined("; ", text, f.notReady[first.Spec.NodeName],
		textIf(finalizers != "", "the pod has the finalizer "+finalizers))}
	c.mild = f.goesOn() && (!f.spec.replaceFailedOnly || f.spec.suspended)
	return c
}

// foreignFinalizers returns the finalizers of a pod other than the Job controller's.
func (f *facts) foreignFinalizers(pod *corev1.Pod) string {
	own := f.keys.Finalizer
	return strings.Join(slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(name string) bool { return name == own }), ", ")
}

// ago says how long ago something was.
func (f *facts) ago(t time.Time) string { return duration.HumanDuration(f.now.Sub(t)) + " ago" }

// overdue reports whether a step that was due at this time is late enough to be a cause.
// The zero time is never overdue.
func (f *facts) overdue(due time.Time) bool { return f.past(due, patience) }

// past reports whether t was at least that long ago. The zero time was not.
func (f *facts) past(t time.Time, ago time.Duration) bool {
	return !t.IsZero() && f.now.Sub(t) >= ago
}

// lastChange returns the latest time in the Job and its pods, at most now.
func (f *facts) lastChange() time.Time {
	last := f.created
	see := func(t *metav1.Time) { last = latest(last, cmp.Or(t, &metav1.Time{}).Time) }
	job := f.job
	see(&job.CreationTimestamp)
	see(job.Status.StartTime)
	for i := range job.Status.Conditions {
		see(&job.Status.Conditions[i].LastTransitionTime)
	}
	for i := range job.ManagedFields {
		see(job.ManagedFields[i].Time)
	}
	for r := range f.pods() {
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
	return earliest(last, f.now)
}

func latest(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" }), separator)
}

// maxMessage is the number of bytes of a message that are quoted.
const maxMessage = 300

// oneLine puts a message on one line and cuts it after maxMessage bytes.
func oneLine(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	return strings.ToValidUTF8(message[:min(len(message), maxMessage)], "") + textIf(len(message) > maxMessage, "…")
}
