package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Events outlive pods. Of a Job that ran out of time, or whose pods restart their containers, they are all that is
// left: its controller has deleted the pods.

// podName matches a name that the API server has generated (k8s.io/apiserver/pkg/storage/names), and the name of the
// Job before it, with or without an index.
var podName = regexp.MustCompile(`^((.+?)(?:-[0-9]+)?)-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// addPod keeps a pod with events, by the names that its Job may have.
func (w *world) addPod(about *corev1.ObjectReference) {
	m := podName.FindStringSubmatch(about.Name)
	if m == nil {
		return
	}
	for i, job := range m[1:] {
		k := key{"Job", about.Namespace, job}
		if i == 0 || job != m[1] {
			w.podsOf[k] = append(w.podsOf[k], about.Name)
		}
	}
}

// made matches the message by which the controller says that it has created or deleted a pod.
var made = regexp.MustCompile(`(?:Created|Deleted) pod: (\S+)$`)

// madePod returns the pod that an event of a Job says was created or deleted; empty if it is another event.
func madePod(e *corev1.Event) string {
	if m := made.FindStringSubmatch(e.Message); m != nil {
		return m[1]
	}
	return ""
}

// names reports whether the controller gives the pods of this Job such names.
func (f *facts) names(pod string) bool {
	m := podName.FindStringSubmatch(pod)
	return m != nil && f.Job.Name == either(f.Indexed(), m[2], m[1])
}

// gonePods returns the events of each pod of the Job that is not given, by the name of the pod: events of the Job name
// it, or it has a name that the controller gives the pods of this Job, and no other Job is said to have made it. A
// pod of an earlier Job of the name is not among them.
func (f *facts) gonePods() map[string][]*corev1.Event {
	job, all := f.Job, map[string][]*corev1.Event{}
	names := slices.Clone(f.podsOf[key{"Job", job.Namespace, job.Name}])
	for _, e := range f.events[job.UID] {
		names = append(names, madePod(e))
	}
	for _, name := range names {
		k := key{"Pod", job.Namespace, name}
		maker, known := f.makers[k]
		if either(known, maker == job.UID, f.names(name)) {
			all[name] = slices.DeleteFunc(slices.Clone(f.byKey[k]),
				func(e *corev1.Event) bool { return timeOf(e).Before(job.CreationTimestamp.Time) })
		}
	}
	for _, r := range f.pods {
		delete(all, r.Pod.Name)
	}
	for _, pod := range f.others {
		delete(all, pod.Name)
	}
	return all
}

// scaleDown is the reason of the event by which cluster-autoscaler deletes a pod (core/scaledown/actuation/drain.go).
const scaleDown = "ScaleDown"

// disrupts reports whether by this event its pod is deleted to free or protect a node, and not for what it does:
// Karpenter (pkg/controllers/node/termination/terminator/events), cluster-autoscaler,
// pkg/scheduler/framework/preemption/executor.go, pkg/controller/tainteviction/taint_eviction.go.
func disrupts(e *corev1.Event) bool {
	return reasonIs("Evicted", "Preempted", scaleDown)(e) && !isWarning(e) || // the kubelet warns of its evictions
		e.Reason == "TaintManagerEviction" && mentions(e.Message, "Marking for deletion")
}

// assigned matches the node in the message of the scheduler (pkg/scheduler/schedule_one.go, bindingCycle).
var assigned = regexp.MustCompile(`^Successfully assigned \S+ to (\S+)$`)

// nodeOf returns the node that a pod has had, by its events; empty if they do not say it.
func nodeOf(events []*corev1.Event) string {
	e := cmp.Or(lastEvent(events, reasonIs("Scheduled")), &corev1.Event{})
	if m := assigned.FindStringSubmatch(oneLine(e.Message)); m != nil {
		return m[1]
	}
	return ""
}

// evictedAgain finds that pods which are gone were evicted again and again, and that no limit counts it: the status
// has fewer failures.
func evictedAgain(f *facts) (c found) {
	var all []*corev1.Event
	var anew []string // what was said of the nodes
	for _, events := range f.gonePods() {
		e := lastEvent(events, disrupts)
		if e == nil || f.past(timeOf(e), time.Hour) || !timeOf(e).After(f.lastSuccess()) {
			continue
		}
		all = append(all, e)
		if of := lastEvent(f.about("Node", "", nodeOf(events)), func(of *corev1.Event) bool {
			return isWarning(of) && timeOf(e).Sub(timeOf(of)).Abs() < longPatience
		}); of != nil {
			anew = append(anew, of.Reason+": "+oneLine(of.Message))
		}
	}
	start := cmp.Or(f.Job.Status.StartTime, &metav1.Time{})
	least := either(f.past(start.Time, 24*time.Hour), 1, 2)
	unknown := f.Progress.Succeeded > 0 && f.lastSuccess().IsZero()
	if len(all)-f.digest.Gone < least || unknown || !f.goesOn() {
		return c
	}
	last := slices.MaxFunc(all, func(a, b *corev1.Event) int {
		return cmp.Or(byTime(a, b), strings.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name))
	})
	slices.Sort(anew)
	c.text = joined("; ", fmt.Sprintf("%s evicted in the last hour, the last %s: %s: %s", count(len(all), "pod")+
		either(len(all) == 1, " was", " were"), f.ago(timeOf(last)), last.Reason, f.preemptorIn(unnamed(last))),
		list(slices.Compact(anew)), "each pod starts anew, and no limit counts this")
	c.evidence = []string{f.eventText(last)}
	return c
}

// addGone adds the events of pods that are gone to a cause, and returns what the largest groups of them say: of each
// pod the warning that nothing has answered.
func (f *facts) addGone(c *found) string {
	gone, groups := f.gonePods(), map[[2]string][]*corev1.Event{}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if e := f.lastWord(name, gone[name]); e != nil {
			k := [2]string{e.Reason, e.InvolvedObject.FieldPath}
			groups[k] = append(groups[k], e)
		}
	}
	for _, g := range groups {
		if disrupts(g[0]) {
			slices.SortStableFunc(g, func(a, b *corev1.Event) int { return timeOf(b).Compare(timeOf(a)) })
		}
	}
	all := slices.SortedFunc(maps.Values(groups), func(a, b []*corev1.Event) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), timeOf(b[0]).Compare(timeOf(a[0])),
			strings.Compare(a[0].Reason+a[0].Message, b[0].Reason+b[0].Message))
	})
	var parts []string
	for _, g := range all[:min(2, len(all))] {
		parts = append(parts, fmt.Sprintf("%d × %s: %s", len(g), g[0].Reason, f.preemptorIn(unnamed(g[0])))+
			f.more(g, gone[g[0].InvolvedObject.Name])+f.exists(f.Job.Namespace, g[0].Message))
	}
	if len(all) == 0 {
		return ""
	}
	c.gone, c.evidence = all[0][0], append(c.evidence, f.eventText(all[0][0]))
	return "events of pods that are gone: " + strings.Join(parts, " · ")
}

// left says from which node a pod that is gone was deleted, and whether the node is cordoned.
func (f *facts) left(e *corev1.Event, ofPod []*corev1.Event) string {
	node, by := cmp.Or(nodeOf(ofPod), e.Source.Host), ""
	if reasonIs("Evicted", scaleDown)(e) {
		by = cmp.Or(e.ReportingController, e.Source.Component)
	}
	if e.Reason != "Killing" && !disrupts(e) || node+by == "" {
		return ""
	}
	text := textIf(by != "", ", by "+by) + textIf(node != "", ", on node "+node) + " at " +
		f.clock(timeOf(e))
	of := cmp.Or(f.nodes[node], &corev1.Node{})
	cordoned := func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil }
	if since := firstOf(of.Spec.Taints, cordoned).TimeAdded; since != nil {
		return text + ", which is cordoned since " + f.clock(since.Time)
	}
	return text + textIf(of.Spec.Unschedulable, ", which is cordoned")
}

// more returns what the other events of a pod add to a group of events of which it has the first.
func (f *facts) more(group, ofPod []*corev1.Event) string {
	if group[0].Reason == "FailedScheduling" {
		e := cmp.Or(lastEvent(ofPod, addsNoNode), &corev1.Event{})
		return textIf(e.Message != "" && e != group[0], "; "+oneLine(e.Message)) + f.holders(group[0].Message)
	}
	if m := usedBy.FindStringSubmatch(group[0].Message); m != nil {
		return f.holderOn(f.near.names[m[1]])
	}
	if !killedByProbe(group[0]) {
		left := f.left(group[0], ofPod)
		return withoutSecrets(group[0].Message, ofPod) + either(len(group) > 1 && left != "",
			", such as"+strings.TrimPrefix(left, ","), left)
	}
	n := 0
	for _, e := range group {
		n += momentOf(e).Count
	}
	e := cmp.Or(lastEvent(ofPod, reasonIs("Unhealthy")), &corev1.Event{})
	return joined(": ", fmt.Sprintf(", %d times", n), oneLine(e.Message))
}

// withoutSecrets says that the kubelet has pulled an image without some of imagePullSecrets
// (pkg/kubelet/kubelet_pods.go, getPullSecretsForPod).
func withoutSecrets(message string, events []*corev1.Event) string {
	e := lastEvent(events, reasonIs("FailedToRetrieveImagePullSecret"))
	if e == nil || !mentions(message, "pull") {
		return ""
	}
	says, _, _ := strings.Cut(oneLine(e.Message), ";")
	return "; " + says
}

// preemptor matches the UID in the message about a preempted pod (pkg/scheduler/framework/preemption/executor.go).
var preemptor = regexp.MustCompile(`^Preempted by pod (\S+) on node `)

// preemptorIn names the pod that preempted another one, if it is given.
func (f *facts) preemptorIn(message string) string {
	m := preemptor.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	for _, near := range append(slices.Collect(maps.Values(f.around)), f.near) {
		for _, pod := range near.all {
			if string(pod.UID) == m[1] {
				return strings.Replace(message, m[1], pod.Name+ownedBy(pod), 1)
			}
		}
	}
	return message
}

// ownedBy names the controller of a pod, in brackets.
func ownedBy(pod *corev1.Pod) string {
	owner := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{})
	return textIf(owner.Name != "", " ("+owner.Kind+" "+owner.Name+")")
}

// neverCreated adds the event by which the API server refuses pods to the cause of a Job that has had none, and
// returns what it says.
func (f *facts) neverCreated(c *found) string {
	status, e := &f.Job.Status, lastEvent(f.events[f.Job.UID], reasonIs("FailedCreate"))
	if e == nil || len(f.pods)+len(f.gonePods()) > 0 || status.Succeeded+status.Failed > 0 {
		return ""
	}
	c.gone, c.evidence = e, append(c.evidence, f.eventText(e))
	return "no pod was created: " + strings.TrimPrefix(oneLine(e.Message), "Error creating: ")
}

// spent says what the last pod that is gone did with the time until the deadline, by its events; empty if they do not
// say that it ran. most is "node" or "image" if it waited for one for most of the time.
func (f *facts) spent() (text, most string) {
	var name string
	var node, run time.Time
	gone, end := f.gonePods(), f.deadline()
	for _, of := range slices.Sorted(maps.Keys(gone)) {
		started := lastEvent(gone[of], reasonIs("Started"))
		placed := cmp.Or(lastEvent(gone[of], reasonIs("Scheduled")), started)
		if started != nil && timeOf(started).After(run) {
			name, node, run = of, timeOf(placed), timeOf(started)
		}
		if killed := lastEvent(gone[of], reasonIs("Killing")); name == "" && !timeOf(killed).Before(end) {
			text = "pod " + of + ", which is gone, still ran then"
		}
	}
	since := f.Job.Status.StartTime
	if name == "" || since == nil || !end.After(run) {
		return text, ""
	}
	e := cmp.Or(lastEvent(gone[name], func(e *corev1.Event) bool {
		return e.Reason == "FailedScheduling" || addsNoNode(e)
	}), &corev1.Event{})
	waited := 2*node.Sub(since.Time) > end.Sub(since.Time)
	most = either(waited, "node", textIf(2*run.Sub(node) > end.Sub(since.Time), "image"))
	text = fmt.Sprintf("pod %s, which is gone, got a node after %s, started after %s, and ran for %s", name,
		duration.HumanDuration(node.Sub(since.Time)), duration.HumanDuration(run.Sub(since.Time)),
		duration.HumanDuration(end.Sub(run)))
	pulled := cmp.Or(lastEvent(gone[name], reasonIs("Pulled")), &corev1.Event{})
	most = textIf(most != "image" || pulled.Message != "", most)
	return joined("; ", text, textIf(waited, joined(": ", e.Reason, oneLine(e.Message))),
		textIf(run.Sub(node) > patience, oneLine(pulled.Message))), most
}

// ran reports whether anything shows that a container of the Job has run.
func (f *facts) ran() bool {
	started := false
	for _, events := range f.gonePods() {
		started = started || lastEvent(events, reasonIs("Started", "Killing")) != nil
	}
	return started || f.Progress.Succeeded+f.Job.Status.Succeeded > 0 ||
		slices.ContainsFunc(f.pods, func(r *record) bool { return r.Pod.Status.Phase != corev1.PodPending })
}

// lastWord returns the event that says why a pod that is gone got no further; nil if none does.
func (f *facts) lastWord(name string, events []*corev1.Event) *corev1.Event {
	if e := lastEvent(events, disrupts); e != nil {
		return e
	}
	killed := lastEvent(events, killedByProbe)
	if e := lastEvent(events, containerBacksOff); e != nil || killed != nil && f.countsRestarts() {
		return cmp.Or(killed, e)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.Job.Namespace}}
	if e := (&podFacts{Pod: pod, f: f, events: events}).warning(); e != nil {
		return e
	}
	placed := cmp.Or(lastEvent(events, reasonIs("FailedScheduling", "Scheduled", "Started")), &corev1.Event{})
	if placed.Reason == "FailedScheduling" {
		return placed
	}
	return f.stopped(name, events)
}

// stopped returns the event by which the kubelet stops a pod that is gone because it was deleted, and not by the
// controller of the Job; nil if there is none (pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer).
func (f *facts) stopped(name string, events []*corev1.Event) *corev1.Event {
	deletes := func(e *corev1.Event) bool { return e.Reason == "SuccessfulDelete" && madePod(e) == name }
	since := f.failsSince()
	if f.failureReason() == batchv1.JobReasonDeadlineExceeded || slices.ContainsFunc(f.events[f.Job.UID], deletes) {
		return nil
	}
	return lastEvent(events, func(e *corev1.Event) bool { // the events of the controller may be missing
		late := !since.IsZero() && f.countsRestarts() && timeOf(e).After(since.Add(-time.Minute))
		return e.Reason == "Killing" && strings.HasPrefix(e.Message, "Stopping container ") && !late &&
			!strings.HasPrefix(e.InvolvedObject.FieldPath, "spec.initContainers")
	})
}

// containerBacksOff reports whether the kubelet restarts a container again and again
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff).
func containerBacksOff(e *corev1.Event) bool { return e.Reason == "BackOff" && isWarning(e) }

// killedByProbe reports whether the kubelet restarts a container because a probe has failed
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, computePodActions).
func killedByProbe(e *corev1.Event) bool {
	return e.Reason == "Killing" && mentions(e.Message, "failed liveness probe", "failed startup probe")
}

// unnamed returns the message of an event without the name of its pod, so that those of several pods are the same.
func unnamed(e *corev1.Event) string {
	about := &e.InvolvedObject
	return strings.Replace(oneLine(e.Message),
		" in pod "+about.Name+"_"+about.Namespace+"("+string(about.UID)+")", "", 1)
}
