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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/internal/decide"
)

// patience is how long a step may be overdue before it counts as a cause. Kubelets, and
// controllers under load, take seconds.
const patience = 2 * time.Minute

// Evidence is additional information besides the snapshot. All of it is optional. Objects
// that do not concern the Job are ignored.
type Evidence struct {
	// Events of the Job and of its pods show why a pod is not created or does not start.
	Events []*corev1.Event
	// Nodes show why a pod does not run or does not terminate.
	Nodes []*corev1.Node
}

// facts are the inputs of the search for causes. Without a decision only job is set.
type facts struct {
	outcome
	job      *batchv1.Job
	reason   Reason                     // of the decision
	deleted  map[types.UID]decide.Cause // the pods that the decision deletes
	nodes    map[string]*corev1.Node
	events   map[about]*corev1.Event // the last of each pod, and the last FailedCreate of each Job
	symptoms []symptom
}

// about is the object of an event.
type about struct{ kind, namespace, name string }

// symptom is the first cause that an active pod has, with its message.
type symptom struct {
	row
	pod     *corev1.Pod
	message string
}

// newFacts returns the facts without the symptoms.
func newFacts(e Explanation) *facts {
	f := &facts{
		outcome: e.about,
		job:     e.about.View.Job,
		reason:  e.Job(),
		deleted: make(map[types.UID]decide.Cause, len(e.about.Plan.Work.Delete)),
		nodes:   make(map[string]*corev1.Node),
		events:  make(map[about]*corev1.Event),
	}
	for _, d := range e.about.Plan.Work.Delete {
		f.deleted[d.Record.Pod.UID] = d.Cause
	}
	for _, evidence := range e.evidence {
		for _, node := range evidence.Nodes {
			if node != nil {
				f.nodes[node.Name] = node
			}
		}
		for _, event := range evidence.Events {
			if event == nil || event.InvolvedObject.Kind == "Job" && event.Reason != "FailedCreate" {
				continue
			}
			object := about{event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name}
			if last := f.events[object]; last == nil || timeOf(event).After(timeOf(last)) {
				f.events[object] = event
			}
		}
	}
	return f
}

// lastEvent returns the last event of a pod, or the last FailedCreate of the Job; nil if none
// is known.
func (f *facts) lastEvent(kind string, object metav1.Object) *corev1.Event {
	event := f.events[about{kind, f.job.Namespace, object.GetName()}]
	if event == nil || event.InvolvedObject.UID != "" && event.InvolvedObject.UID != object.GetUID() {
		return nil
	}
	return event
}

// timeOf returns when an event last happened. The Event API has changed the fields that
// hold this time twice.
func timeOf(event *corev1.Event) time.Time {
	last := event.LastTimestamp.Time
	if event.Series != nil {
		last = latest(last, event.Series.LastObservedTime.Time)
	}
	return cmp.Or(last, event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time)
}

// notReady says since when a node has been NotReady. It is empty if the node is ready or
// not known.
func (f *facts) notReady(name string) string {
	node := f.nodes[name]
	if node == nil {
		return ""
	}
	for i := range node.Status.Conditions {
		switch c := &node.Status.Conditions[i]; {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue:
			return ""
		case c.Type == corev1.NodeReady:
			return "node " + name + " has been NotReady since " + f.clock(c.LastTransitionTime.Time)
		}
	}
	return "node " + name + " is NotReady"
}

// examine returns the symptoms of the active pods that the decision does not delete.
func (f *facts) examine() (all []symptom) {
	for _, r := range f.View.Census.ActiveInOrder() {
		if _, goes := f.deleted[r.Pod.UID]; goes {
			continue
		}
		if s := f.symptomOf(r.Pod); s.code != "" {
			all = append(all, s)
		}
	}
	return all
}

// symptomOf returns the symptom of an active pod; without a row if the pod has none.
func (f *facts) symptomOf(pod *corev1.Pod) symptom {
	for i := range causes {
		if causes[i].pod == nil {
			continue
		}
		if message := causes[i].pod(f, pod); message != "" {
			return symptom{causes[i], pod, oneLine(message)}
		}
	}
	return symptom{}
}

// stuck says how many active pods have the cause of a row, with the most common message.
func (f *facts) stuck(r row, c *Cause) {
	var messages []string
	times := map[string]int{}
	for _, s := range f.symptoms {
		if s.code == r.code {
			c.Pods = append(c.Pods, s.pod.Name)
			messages = append(messages, s.message)
			times[s.message]++
		}
	}
	if len(messages) > 0 {
		common := slices.MaxFunc(messages, func(a, b string) int { return cmp.Compare(times[a], times[b]) })
		c.Text = fmt.Sprintf("%d of %s %s: %s", len(messages), count(f.View.Census.Active, "active pod"), r.cannot, common)
	}
}

// ago says how long ago something was.
func (o outcome) ago(t time.Time) string { return duration.HumanDuration(o.View.Now.Sub(t)) + " ago" }

// overdue reports whether a step that was due at this time is late enough to be a cause.
// The zero time is never overdue.
func (o outcome) overdue(due time.Time) bool { return o.past(due, patience) }

// past reports whether t was at least that long ago. The zero time was not.
func (o outcome) past(t time.Time, ago time.Duration) bool {
	return !t.IsZero() && o.View.Now.Sub(t) >= ago
}

// maxMessage is the number of bytes of a message that are quoted.
const maxMessage = 300

// oneLine puts a message on one line and cuts it after maxMessage bytes.
func oneLine(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// lastChange returns the latest time in the Job and its pods, at most now.
func (o outcome) lastChange() (last time.Time) {
	see := func(t *metav1.Time) {
		if t != nil && t.After(last) {
			last = t.Time
		}
	}
	job := o.View.Job
	see(&job.CreationTimestamp)
	see(job.Status.StartTime)
	for i := range job.Status.Conditions {
		see(&job.Status.Conditions[i].LastTransitionTime)
	}
	for i := range job.ManagedFields {
		see(job.ManagedFields[i].Time)
	}
	for r := range o.View.Census.All() {
		see(&r.Pod.CreationTimestamp)
		see(r.Pod.DeletionTimestamp)
		for i := range r.Pod.Status.Conditions {
			see(&r.Pod.Status.Conditions[i].LastTransitionTime)
		}
		for i := range r.Pod.Status.ContainerStatuses {
			state := &r.Pod.Status.ContainerStatuses[i].State
			if state.Running != nil {
				see(&state.Running.StartedAt)
			}
			if state.Terminated != nil {
				see(&state.Terminated.FinishedAt)
			}
		}
	}
	if last.After(o.View.Now) {
		return o.View.Now
	}
	return last
}

// latest returns the latest of the times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func colon(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}
