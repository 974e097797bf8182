package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
)

// patience is how long a step may be overdue before it counts as a cause. Kubelets, and
// controllers under load, take seconds.
const patience = 2 * time.Minute

// facts are the inputs of the search for causes. Without a decision only job is set.
type facts struct {
	outcome
	job     *batchv1.Job
	reason  Reason // of the decision
	nodes   map[string]*corev1.Node
	refusal *corev1.Event            // the last FailedCreate of the Job
	events  map[string]*corev1.Event // the last event of each pod, by the pod's name
	// stuck are the active pods that the decision does not delete, by their first cause.
	stuck map[Code]*stuckPods
}

// newFacts reads each pod and each piece of evidence once.
func newFacts(e Explanation) *facts {
	f := evidenceOf(e)
	f.findStuck()
	return f
}

// evidenceOf returns the facts without the stuck pods.
func evidenceOf(e Explanation) *facts {
	f := &facts{
		outcome: e.about,
		job:     e.about.View.Job,
		reason:  e.about.jobReason(),
		nodes:   make(map[string]*corev1.Node, len(e.evidence.Nodes)),
		events:  make(map[string]*corev1.Event),
		stuck:   make(map[Code]*stuckPods),
	}
	for _, node := range e.evidence.Nodes {
		if node != nil {
			f.nodes[node.Name] = node
		}
	}
	for _, event := range e.evidence.Events {
		f.addEvent(event)
	}
	return f
}

// addEvent keeps the event if it is the latest FailedCreate of the Job, or the latest event
// for a pod name in the Job's namespace.
func (f *facts) addEvent(event *corev1.Event) {
	if event == nil || event.InvolvedObject.Namespace != f.job.Namespace {
		return
	}
	about := &event.InvolvedObject
	switch {
	case about.Kind == "Pod":
		if last := f.events[about.Name]; last == nil || timeOf(event).After(timeOf(last)) {
			f.events[about.Name] = event
		}
	case about.Kind == "Job" && about.Name == f.job.Name && (about.UID == "" || about.UID == f.job.UID) && event.Reason == "FailedCreate":
		if f.refusal == nil || timeOf(event).After(timeOf(f.refusal)) {
			f.refusal = event
		}
	}
}

// lastEvent returns the last event of a pod, nil if none is known.
func (f *facts) lastEvent(pod *corev1.Pod) *corev1.Event {
	event := f.events[pod.Name]
	if event == nil || event.InvolvedObject.UID != "" && event.InvolvedObject.UID != pod.UID {
		return nil
	}
	return event
}

// timeOf returns when an event last happened. The Event API has changed the fields that
// hold this time twice.
func timeOf(event *corev1.Event) time.Time {
	last := event.LastTimestamp.Time
	if event.Series != nil && event.Series.LastObservedTime.After(last) {
		last = event.Series.LastObservedTime.Time
	}
	for _, t := range [...]time.Time{event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time} {
		if last.IsZero() {
			last = t
		}
	}
	return last
}

// notReady says since when a node has been NotReady. It is empty if the node is ready or
// not known.
func (f *facts) notReady(name string) string {
	node := f.nodes[name]
	if node == nil {
		return ""
	}
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			return ""
		default:
			return "node " + name + " has been NotReady since " + f.clock(c.LastTransitionTime.Time)
		}
	}
	return "node " + name + " is NotReady"
}

// findStuck groups the active pods that the decision does not delete by their first cause.
func (f *facts) findStuck() {
	removed := make(map[types.UID]bool, len(f.Plan.Work.Delete))
	for _, d := range f.Plan.Work.Delete {
		removed[d.Record.Pod.UID] = true
	}
	for _, r := range f.View.Census.ActiveInOrder() {
		if removed[r.Pod.UID] {
			continue
		}
		row, message := f.causeOf(r.Pod)
		if row.pod == nil {
			continue
		}
		if f.stuck[row.code] == nil {
			f.stuck[row.code] = &stuckPods{messages: make(map[string]int)}
		}
		f.stuck[row.code].add(r.Pod, message)
	}
}

// causeOf returns the first cause that an active pod has, with its message; the zero row if
// the pod has none.
func (f *facts) causeOf(pod *corev1.Pod) (row, string) {
	for i := range causes {
		if causes[i].pod == nil {
			continue
		}
		if message, has := causes[i].pod(f, pod); has {
			return causes[i], oneLine(message)
		}
	}
	return row{}, ""
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

// lastChange returns the latest time in the Job and its pods that is not after now.
func (o outcome) lastChange() time.Time {
	job := o.View.Job
	times := []time.Time{job.CreationTimestamp.Time}
	if job.Status.StartTime != nil {
		times = append(times, job.Status.StartTime.Time)
	}
	for i := range job.Status.Conditions {
		times = append(times, job.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range job.ManagedFields {
		if t := job.ManagedFields[i].Time; t != nil {
			times = append(times, t.Time)
		}
	}
	for r := range o.View.Census.All() {
		times = append(times, lastChangeOf(r.Pod))
	}
	for i := range times {
		if times[i].After(o.View.Now) {
			times[i] = o.View.Now
		}
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

func lastChangeOf(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	if pod.DeletionTimestamp != nil {
		later(pod.DeletionTimestamp.Time)
	}
	for i := range pod.Status.Conditions {
		later(pod.Status.Conditions[i].LastTransitionTime.Time)
	}
	for i := range pod.Status.ContainerStatuses {
		state := &pod.Status.ContainerStatuses[i].State
		if state.Running != nil {
			later(state.Running.StartedAt.Time)
		}
		if state.Terminated != nil {
			later(state.Terminated.FinishedAt.Time)
		}
	}
	return last
}

// stuckPods are pods with the same cause.
type stuckPods struct {
	pods     []*corev1.Pod
	messages map[string]int
	order    []string // of the messages
}

func (s *stuckPods) add(pod *corev1.Pod, message string) {
	s.pods = append(s.pods, pod)
	if s.messages[message]++; s.messages[message] == 1 {
		s.order = append(s.order, message)
	}
}

// finding says how many active pods have the cause, with the most common message.
func (s *stuckPods) finding(cannot string, f *facts) finding {
	if s == nil {
		return finding{}
	}
	common := slices.MaxFunc(s.order, func(a, b string) int { return cmp.Compare(s.messages[a], s.messages[b]) })
	return finding{text: portion(len(s.pods), int(f.View.Census.Active)) + " " + cannot + colon(common), pods: s.pods}
}

func colon(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}
