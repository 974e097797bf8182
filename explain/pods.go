package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/internal/sidecar"
)

// sign is what shows a cause in a pod; without a text there is none.
type sign struct {
	text      string
	container string
	node      string
	event     *corev1.Event // nil if the pod's own status shows it
	about     string        // another object that shows it
}

// podFacts are the facts of an active pod.
type podFacts struct {
	*corev1.Pod
	f         *facts
	t         *template
	node      string
	scheduled corev1.PodCondition
	events    []*corev1.Event // about the pod, in the order of time
	all       []container
	since     time.Time // when it was scheduled or, without a node, created
}

// container is a container of a pod.
type container struct {
	*corev1.ContainerStatus
	role string
}

func (c container) String() string { return c.role + " " + c.Name }

// template is the pod template of the Job as plain values, so that fields which the types of the API
// lack are found. It is read once for all pods, if at all.
type template struct {
	f    *facts
	read bool
	spec object
}

// container returns a container of the template; empty if it is not there.
func (t *template) container(name string) object {
	if !t.read {
		t.read, t.spec = true, t.f.uids[t.f.job.UID]
		if t.spec == nil {
			t.spec, _ = runtime.DefaultUnstructuredConverter.ToUnstructured(t.f.job)
		}
		t.spec = t.spec.at("spec", "template", "spec")
	}
	for _, c := range slices.Concat(t.spec.list("containers"), t.spec.list("initContainers")) {
		if c.text("name") == name {
			return c
		}
	}
	return nil
}

// isWell reports whether the main containers of a pod run, and nothing of the pod needs a closer
// examination.
func (f *facts) isWell(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning || pod.Status.Reason != "" || len(f.events[pod.UID]) > 0 ||
		len(pod.Spec.SchedulingGates) > 0 || f.notReady[pod.Spec.NodeName] != "" || f.nodeMissing(pod) ||
		len(pod.Status.InitContainerStatuses) > 0 {
		return false
	}
	for i := range pod.Status.ContainerStatuses {
		if c := &pod.Status.ContainerStatuses[i]; c.State.Running == nil || c.RestartCount > 0 {
			return false
		}
	}
	for i := range pod.Status.Conditions {
		switch pod.Status.Conditions[i].Type {
		case "PodResizePending", "PodResizeInProgress", "AllContainersRestarting":
			return false
		}
	}
	return true
}

func (f *facts) nodeMissing(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && len(f.nodes) > 0 && f.nodes[pod.Spec.NodeName] == nil
}

// factsOf returns the facts of a pod.
func (f *facts) factsOf(of *corev1.Pod, t *template) *podFacts {
	p := &podFacts{Pod: of, f: f, t: t, node: of.Spec.NodeName, scheduled: condition(of, corev1.PodScheduled),
		events: f.events[of.UID]}
	p.since = p.CreationTimestamp.Time
	if p.node != "" {
		p.since = latest(p.since, p.scheduled.LastTransitionTime.Time)
	}
	sidecars := map[string]bool{}
	for c := range sidecar.Statuses(of) {
		sidecars[c.Name] = true
	}
	for i := range of.Status.InitContainerStatuses {
		c := &of.Status.InitContainerStatuses[i]
		p.all = append(p.all, container{c, either(sidecars[c.Name], "sidecar", "init container")})
	}
	for i := range of.Status.ContainerStatuses {
		p.all = append(p.all, container{&of.Status.ContainerStatuses[i], "container"})
	}
	return p
}

// diagnose returns the first row of the table that the state of an active pod shows, and its sign; nil
// if the pod runs.
func (f *facts) diagnose(pod *corev1.Pod, t *template) (*row, sign) {
	if f.isWell(pod) {
		return nil, sign{}
	}
	p := f.factsOf(pod, t)
	for i := range causes {
		if r := &causes[i]; r.pod != nil && !r.last {
			if s := r.pod(p); s.text != "" {
				return r, s
			}
		}
	}
	if p.runs() {
		return nil, sign{}
	}
	for i := range causes {
		if r := &causes[i]; r.last {
			if s := r.pod(p); s.text != "" {
				return r, s
			}
		}
	}
	return nil, sign{}
}

// runs reports whether the main containers of the pod run, or some have ended and the others run.
func (p *podFacts) runs() bool {
	return p.Status.Phase == corev1.PodRunning && !slices.ContainsFunc(p.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.State.Running == nil && c.State.Terminated == nil })
}

// symptom is a code that several active pods show, with the row and the sign of each.
type symptom struct {
	*row  // of the most common sign
	most  int
	pods  []*corev1.Pod
	rows  []*row
	signs []sign
}

// symptoms finds which active pods show the same code. It leaves out the pods that the decision deletes,
// unless the Job fails: they may show why.
func (f *facts) symptoms() (all []*symptom) {
	t, by := &template{f: f}, map[Code]*symptom{}
	for _, r := range f.activeInOrder() {
		if f.deleted[r.Pod.UID] != "" && f.failureReason() == "" {
			continue
		}
		of, s := f.diagnose(r.Pod, t)
		if of == nil {
			continue
		}
		a := by[of.code]
		if a == nil {
			a = &symptom{}
			by[of.code], all = a, append(all, a)
		}
		a.pods, a.rows, a.signs = append(a.pods, r.Pod), append(a.rows, of), append(a.signs, s)
	}
	for _, a := range all {
		times := map[string]int{}
		for _, s := range a.signs {
			times[s.text]++
		}
		for i, s := range a.signs {
			if times[s.text] > times[a.signs[a.most].text] {
				a.most = i
			}
		}
		a.row = a.rows[a.most]
	}
	return all
}

// found returns the symptom as a cause, with the most common sign.
func (a *symptom) found(f *facts) (c found) {
	for _, pod := range a.pods {
		c.pods = append(c.pods, pod.Name)
	}
	s, pod := a.signs[a.most], a.pods[a.most]
	c.pod, c.container, c.node = pod.Name, s.container, cmp.Or(s.node, pod.Spec.NodeName)
	c.text = fmt.Sprintf("%d of %s %s: %s", len(a.pods), count(f.active, "active pod"), a.cannot, s.text)
	c.evidence = []string{cmp.Or(s.about, "pod/"+pod.Name)}
	if s.event != nil {
		c.evidence = append(c.evidence, f.eventText(s.event))
	}
	return c
}

// eventText names an event as evidence.
func (f *facts) eventText(e *corev1.Event) string {
	return "event " + e.Reason + " of " + strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name +
		textIf(!timeOf(e).IsZero(), " at "+f.clock(timeOf(e)))
}

// condition returns a condition of a pod; the zero condition if the pod does not have it.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) (c corev1.PodCondition) {
	if i := slices.IndexFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool { return c.Type == kind }); i >= 0 {
		c = pod.Status.Conditions[i]
	}
	return c
}

// lastEvent returns the last event for which is holds; nil if there is none.
func lastEvent(events []*corev1.Event, is func(*corev1.Event) bool) *corev1.Event {
	for _, e := range slices.Backward(events) {
		if is(e) {
			return e
		}
	}
	return nil
}

// reasonIs returns a condition on an event: it has one of the reasons.
func reasonIs(reasons ...string) func(*corev1.Event) bool {
	return func(e *corev1.Event) bool { return slices.Contains(reasons, e.Reason) }
}

// mentions reports whether a text has one of the parts.
func mentions(text string, parts ...string) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// lasting says for how long a state has lasted.
func (f *facts) lasting(since time.Time) string {
	return textIf(!since.IsZero(), "for "+duration.HumanDuration(max(0, f.now.Sub(since))))
}

// The node.

func nodeLost(p *podFacts) (s sign) {
	if text := p.f.notReady[p.node]; text != "" {
		s.about = "node/" + p.node
		s.text = text + p.evicted()
	} else if p.Status.Phase == corev1.PodUnknown || p.Status.Reason == "NodeLost" {
		s.text = joined(": ", joined(", on node ", "the pod's phase is "+string(p.Status.Phase), p.node),
			oneLine(p.Status.Message))
	}
	return s
}

// evicted says when the taint of a node that is not ready evicts the pod: the admission plugin
// DefaultTolerationSeconds lets pods stay for five minutes.
func (p *podFacts) evicted() string {
	since := p.f.notReadySince(p.node)
	for _, t := range p.Spec.Tolerations {
		if t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil && !since.IsZero() &&
			(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) {
			at := since.Add(time.Duration(*t.TolerationSeconds) * time.Second)
			return either(at.After(p.f.now), "; its pods are evicted at ", "; its pods should have been evicted at ") +
				p.f.clock(at)
		}
	}
	return ""
}

func nodeMissing(p *podFacts) (s sign) {
	if p.f.nodeMissing(p.Pod) && p.f.overdue(p.since) {
		s.text = fmt.Sprintf("node %s is not among the %s given", p.node, count(len(p.f.nodes), "node"))
	}
	return s
}

// Before there is a node.

// unplaced reports whether the pod has no node, and the scheduler has said why.
func (p *podFacts) unplaced() bool {
	return p.node == "" && p.scheduled.Type != "" && p.scheduled.Status != corev1.ConditionTrue
}

// schedulerSays returns what the scheduler said last about the pod, and the event if that is newer than
// the condition or there is no condition.
func (p *podFacts) schedulerSays() (string, *corev1.Event) {
	e := lastEvent(p.events, reasonIs("FailedScheduling"))
	if p.unplaced() && p.scheduled.Message != "" {
		return p.scheduled.Message, e
	}
	if e != nil {
		return e.Message, e
	}
	return cmp.Or(textIf(p.unplaced(), cmp.Or(p.scheduled.Reason, "the condition PodScheduled is not True"))), nil
}

func gated(p *podFacts) (s sign) {
	var gates []string
	for _, gate := range p.Spec.SchedulingGates {
		who := gateOwner(gate.Name)
		gates = append(gates, gate.Name+textIf(who != "", " ("+who+" removes it)"))
	}
	s.text = strings.Join(gates, ", ")
	return s
}

// claimMissing finds that a ResourceClaim of the pod cannot be created, or does not exist
// (pkg/controller/resourceclaim/controller.go, plugins/dynamicresources PreEnqueue).
func claimMissing(p *podFacts) (s sign) {
	if p.node != "" {
		return s
	}
	if e := lastEvent(p.events, reasonIs("FailedResourceClaimCreation")); e != nil {
		return sign{text: oneLine(e.Message), event: e}
	}
	for _, c := range p.Spec.ResourceClaims {
		if name := c.ResourceClaimName; name != nil && p.f.has("ResourceClaim") &&
			p.f.find("ResourceClaim", p.Namespace, *name) == nil {
			return sign{text: "ResourceClaim " + *name + " is not among those given"}
		}
		if name := c.ResourceClaimTemplateName; name != nil && p.f.has("ResourceClaimTemplate") &&
			p.f.find("ResourceClaimTemplate", p.Namespace, *name) == nil {
			return sign{text: "ResourceClaimTemplate " + *name + " is not among those given"}
		}
	}
	if text, e := p.schedulerSays(); mentions(text, "resourceclaim") && mentions(text, "not found", "is being deleted") {
		return sign{text: oneLine(text), event: e}
	}
	return s
}

// gangIncomplete finds that a pod waits for the other pods of its group
// (plugins/gangscheduling/gangscheduling.go).
func gangIncomplete(p *podFacts) (s sign) {
	if p.node != "" {
		return s
	}
	text, e := p.schedulerSays()
	if mentions(text, "from a gang to", "pod group \"", "PodGroup", "pod group") {
		return sign{text: joined("; ", p.f.gang(p.Pod), oneLine(text)), event: e}
	}
	if gang := p.f.gang(p.Pod); gang != "" && p.f.overdue(p.since) {
		return sign{text: gang}
	}
	return s
}

// volumeUnbound finds a PersistentVolumeClaim that keeps the pod from being scheduled
// (plugins/volumebinding), with what the claim itself says.
func volumeUnbound(p *podFacts) (s sign) {
	if p.node != "" {
		return s
	}
	text, e := p.schedulerSays()
	if !mentions(text, "PersistentVolumeClaim", "persistentvolumeclaim") {
		return s
	}
	s = sign{text: oneLine(text), event: e}
	for _, name := range p.claims() {
		claim := p.f.find("PersistentVolumeClaim", p.Namespace, name)
		if claim != nil && claim.text("status", "phase") == "Bound" {
			continue
		}
		about := p.f.about("PersistentVolumeClaim", p.Namespace, name)
		if claim == nil && about == nil {
			continue
		}
		s.about = "persistentvolumeclaim/" + name
		s.text += "; PersistentVolumeClaim " + joined(" is ", name, claim.text("status", "phase"))
		if e := lastEvent(about, func(e *corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning || e.Reason == "FailedBinding" || e.Reason == "ExternalProvisioning"
		}); e != nil {
			s.event, s.text = e, s.text+": "+e.Reason+": "+oneLine(e.Message)
		}
		break
	}
	return s
}

// claims returns the names of the PersistentVolumeClaims of the pod.
func (p *podFacts) claims() (names []string) {
	volumes := p.Spec.Volumes
	if len(volumes) == 0 {
		volumes = p.f.job.Spec.Template.Spec.Volumes
	}
	for _, v := range volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}

// grows returns the last event that says that a node is being added for the pod, unless an
// autoscaler has given up since.
func (p *podFacts) grows() *corev1.Event {
	e := lastEvent(p.events, reasonIs(scaleUp, noScaleUp, karpenterFit))
	if e == nil || e.Reason == noScaleUp || p.f.past(timeOf(e), longPatience) {
		return nil
	}
	return e
}

func scaleUpRefused(p *podFacts) (s sign) {
	if !p.unplaced() {
		return s
	}
	e := lastEvent(p.events, reasonIs(scaleUp, noScaleUp, karpenterFit))
	if e == nil || e.Reason != noScaleUp {
		return s
	}
	text, _ := p.schedulerSays()
	return sign{text: oneLine(text) + "; " + oneLine(e.Message), event: e}
}

// notScheduledYet finds a pod that will get a node soon: it has just been refused, a node is being
// added, or others are preempted for it.
func notScheduledYet(p *podFacts) (s sign) {
	if p.node != "" {
		return s
	}
	text, e := p.schedulerSays()
	grows := p.grows()
	since := cmp.Or(p.scheduled.LastTransitionTime.Time, p.CreationTimestamp.Time)
	if text == "" && grows == nil {
		return s
	}
	if nominated := p.Status.NominatedNodeName; nominated != "" && !p.f.past(since, longPatience) {
		return sign{text: "pods on node " + nominated + " are preempted for it: " + oneLine(text), event: e}
	}
	if grows == nil && (since.IsZero() || p.f.overdue(since)) {
		return s
	}
	s = sign{text: oneLine(text), event: cmp.Or(grows, e)}
	if grows != nil {
		s.text = joined(": ", "a node is being added", s.text)
	}
	return s
}

// unschedulable returns the finder for a pod that no node can take, where most nodes give one of the
// reasons; without reasons, any.
func unschedulable(reasons ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		if p.node != "" || notScheduledYet(p).text != "" {
			return s
		}
		text, e := p.schedulerSays()
		if text == "" || !mentions(mainReason(text), reasons...) {
			return s
		}
		return sign{text: oneLine(text), event: e}
	}
}

// mainReason returns the reason that most nodes give in a message of the scheduler such as
// "0/5 nodes are available: 3 Insufficient cpu, 2 node(s) were unschedulable. preemption: …". It is the
// whole message if it has another form.
func mainReason(message string) string {
	list, _, _ := strings.Cut(message, ". ")
	_, list, found := strings.Cut(list, "nodes are available: ")
	if !found {
		return message
	}
	most, main := 0, message
	for part := range strings.SplitSeq(list, ", ") {
		n, why := 0, ""
		if _, err := fmt.Sscanf(part, "%d", &n); err != nil {
			continue
		}
		if _, why, _ = strings.Cut(part, " "); n > most {
			most, main = n, why
		}
	}
	return main
}

func noScheduler(p *podFacts) (s sign) {
	if p.node == "" && p.scheduled.Type == "" && p.Status.Phase == corev1.PodPending &&
		p.f.overdue(p.CreationTimestamp.Time) {
		s.text = "schedulerName is " + cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
		if e := lastEvent(p.events, func(*corev1.Event) bool { return true }); e != nil {
			s.event, s.text = e, s.text+"; its last event is "+e.Reason+": "+oneLine(e.Message)
		}
	}
	return s
}

// The containers.

// waiting returns the finder for a container that waits for one of the reasons, with one of the parts
// in its message.
func waiting(reasons []string, parts ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		for _, c := range p.all {
			w := c.State.Waiting
			if w == nil || !slices.Contains(reasons, w.Reason) {
				continue
			}
			text := w.Message
			if e := lastEvent(p.events, func(e *corev1.Event) bool {
				return e.Reason == "Failed" && strings.Contains(e.Message, "Failed to pull image") && c.in(e)
			}); e != nil { // the back-off hides why, in older kubelets
				s.event = e
				if !mentions(text, ": ") {
					text = joined(": ", text, strings.TrimPrefix(e.Message, "Failed to pull image "))
				}
			}
			if !mentions(text, parts...) {
				continue
			}
			s.container = c.Name
			s.text = joined(": ", c.String(), w.Reason, oneLine(text))
			return s
		}
		return sign{}
	}
}

// in reports whether an event is about the container.
func (c container) in(e *corev1.Event) bool {
	return e.InvolvedObject.FieldPath == "" || strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+c.Name+"}")
}

var (
	imageReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
		"ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"}
	configReasons = []string{"CreateContainerConfigError", "CreateContainerError", "PreCreateHookError"}
	crashLoop     = "CrashLoopBackOff"
	usualReasons  = []string{"", "ContainerCreating", "PodInitializing", crashLoop}
)

// containerStart finds a container that waits for another unusual reason.
func containerStart(p *podFacts) (s sign) {
	for _, c := range p.all {
		if w := c.State.Waiting; w != nil && !slices.Contains(usualReasons, w.Reason) &&
			!slices.Contains(imageReasons, w.Reason) && !slices.Contains(configReasons, w.Reason) {
			return sign{text: joined(": ", c.String(), w.Reason, oneLine(w.Message)), container: c.Name}
		}
	}
	return s
}

// crashing returns the finder for a container that is restarted again and again, for which is holds.
func crashing(is func(*podFacts, container) bool) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		main := slices.ContainsFunc(p.all, func(c container) bool { return c.role == "container" && c.State.Running != nil })
		for _, c := range p.all {
			if main && c.role != "container" {
				continue // it is a sidecar, without which the pod can finish
			}
			if w := c.State.Waiting; (w != nil && w.Reason == crashLoop || p.loops(c)) && is(p, c) {
				return sign{text: joined(": ", c.String(), textIf(w != nil, crashLoop)) + p.restarts(c), container: c.Name}
			}
		}
		return s
	}
}

// loops reports whether a container is restarted again and again without making progress: after
// running for ten minutes, the kubelet forgets the back-off (2 × MaxContainerBackOff).
func (p *podFacts) loops(c container) bool {
	last := c.LastTerminationState.Terminated
	if last == nil || c.RestartCount < 3 || last.FinishedAt.Sub(last.StartedAt.Time) >= longPatience {
		return false
	}
	if running := c.State.Running; running != nil {
		return !p.f.past(running.StartedAt.Time, longPatience)
	}
	return c.State.Terminated == nil
}

// restarts says how a container has ended and was restarted.
func (p *podFacts) restarts(c container) string {
	last := c.LastTerminationState.Terminated
	if last == nil {
		return textIf(c.RestartCount > 0, " after "+count(c.RestartCount, "restart"))
	}
	return " after " + joined(": ", joined(", ", exit(last), textIf(c.RestartCount > 0, count(c.RestartCount, "restart")),
		textIf(!last.FinishedAt.IsZero(), "the last run ended "+p.f.ago(last.FinishedAt.Time))), oneLine(last.Message))
}

func anyContainer(*podFacts, container) bool { return true }

func outOfMemory(_ *podFacts, c container) bool {
	last := c.LastTerminationState.Terminated
	return last != nil && last.Reason == "OOMKilled"
}

func restartsByRule(p *podFacts, c container) bool { return p.rule(c) != "" }

func onInit(_ *podFacts, c container) bool { return c.role == "init container" }

// rule returns the restart rule of a container that the last exit code matches (KEP-5307, KEP-5532);
// empty if there is none.
func (p *podFacts) rule(c container) string {
	last := c.LastTerminationState.Terminated
	if last == nil {
		return ""
	}
	for i, r := range p.t.container(c.Name).list("restartPolicyRules") {
		values, _ := r.at("exitCodes")["values"].([]any)
		in := slices.ContainsFunc(values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(last.ExitCode) })
		if operator := r.text("exitCodes", "operator"); operator == "In" && in || operator == "NotIn" && !in {
			return fmt.Sprintf("restartPolicyRules[%d] (%s on exit codes %s %v)", i, r.text("action"), operator, values)
		}
	}
	return ""
}

// ruleLoop finds a container that a restart rule restarts for ever.
func ruleLoop(p *podFacts) (s sign) {
	s = crashing(restartsByRule)(p)
	for _, c := range p.all {
		if c.Name == s.container && s.text != "" {
			s.text += "; " + p.rule(c) + " restarts it, and no limit counts that"
		}
	}
	return s
}

// allRestarting finds a pod all of whose containers have been restarting for long (KEP-5532).
func allRestarting(p *podFacts) (s sign) {
	c := condition(p.Pod, "AllContainersRestarting")
	if c.Status != corev1.ConditionTrue || !p.f.overdue(c.LastTransitionTime.Time) {
		return s
	}
	s.text = joined(": ", "all containers have been restarting "+p.f.lasting(c.LastTransitionTime.Time), oneLine(c.Message))
	for _, c := range p.all {
		if c.LastTerminationState.Terminated != nil {
			s.container, s.text = c.Name, s.text+"; "+c.String()+p.restarts(c)
			break
		}
	}
	return s
}

// probeFailing finds a container that does not start, or is restarted, because of its probe
// (pkg/kubelet/prober/prober.go).
func probeFailing(p *podFacts) (s sign) {
	e := lastEvent(p.events, func(e *corev1.Event) bool {
		return e.Reason == "Unhealthy" && mentions(e.Message, "Startup probe", "Liveness probe") ||
			e.Reason == "Killing" && mentions(e.Message, "failed liveness probe", "failed startup probe")
	})
	for _, c := range p.all {
		started := c.Started != nil && *c.Started
		again := c.RestartCount > 0 && c.LastTerminationState.Terminated != nil &&
			!p.f.past(c.LastTerminationState.Terminated.FinishedAt.Time, longPatience)
		switch {
		case e != nil && c.in(e) && (!started && c.State.Running != nil || again) && c.State.Terminated == nil:
			return sign{text: joined(": ", c.String(), oneLine(e.Message)) + textIf(c.RestartCount > 0, ";"+p.restarts(c)),
				container: c.Name, event: e}
		case c.role == "sidecar" && c.Started != nil && !started && c.State.Running != nil && c.RestartCount >= 3:
			return sign{text: c.String() + " has not started" + p.restarts(c), container: c.Name}
		}
	}
	return s
}

// restarted finds a container that was restarted lately, and may go on.
func restarted(p *podFacts) (s sign) {
	for _, c := range p.all {
		last := c.LastTerminationState.Terminated
		if c.RestartCount > 0 && last != nil && c.role != "sidecar" && c.State.Terminated == nil &&
			!p.f.past(last.FinishedAt.Time, longPatience) && last.FinishedAt.Sub(last.StartedAt.Time) < longPatience {
			return sign{text: c.String() + p.restarts(c), container: c.Name}
		}
	}
	return s
}

// On the node.

// started reports whether any container of the pod has started.
func (p *podFacts) started() bool {
	return slices.ContainsFunc(p.all, func(c container) bool {
		return c.State.Running != nil || c.State.Terminated != nil || c.RestartCount > 0
	})
}

// progress are the events after which an earlier warning is over.
var progress = reasonIs("Scheduled", "Pulling", "Pulled", "Created", "Started", "SuccessfulAttachVolume")

// warning returns the warning that keeps the pod from starting: of those since the last progress, the one
// that says most. A mount that times out waits for what an earlier warning says.
func (p *podFacts) warning() (best *corev1.Event) {
	rank := func(e *corev1.Event) int {
		switch {
		case strings.HasPrefix(e.Message, "Multi-Attach error"):
			return 4
		case e.Reason == "FailedAttachVolume" || e.Reason == "FailedCreatePodSandBox":
			return 3
		case e.Reason == "FailedMount" && mentions(e.Message, "timed out", "context deadline exceeded"):
			return 1
		case e.Reason == "FailedSync":
			return 0
		}
		return 2
	}
	for _, e := range slices.Backward(p.events) {
		switch {
		case progress(e):
			return best
		case e.Type != corev1.EventTypeWarning || e.Reason == "FailedToRetrieveImagePullSecret" ||
			e.Reason == "FailedScheduling":
		case best == nil || rank(e) > rank(best):
			best = e
		}
	}
	return best
}

// startFailing returns the finder for a pod with a node in which no container has started, because of
// a warning with one of the reasons and one of the parts in its message; without reasons, any.
func startFailing(reasons []string, parts ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		if p.Status.Phase != corev1.PodPending || p.node == "" || p.started() {
			return s
		}
		e := p.warning()
		if e == nil || len(reasons) > 0 && !slices.Contains(reasons, e.Reason) || !mentions(e.Message, parts...) {
			return s
		}
		return sign{text: joined(": ", e.Reason, oneLine(e.Message)), event: e}
	}
}

func startOverdue(p *podFacts) (s sign) {
	if p.Status.Phase == corev1.PodPending && p.node != "" && !p.started() && p.f.past(p.since, longPatience) {
		s.text = "no container has started on node " + p.node + " in " + duration.HumanDuration(p.f.now.Sub(p.since))
		if e := lastEvent(p.events, func(*corev1.Event) bool { return true }); e != nil {
			s.event, s.text = e, s.text+"; its last event, "+p.f.ago(timeOf(e))+", is "+joined(": ", e.Reason, oneLine(e.Message))
		}
	}
	return s
}

// pulling finds an image that has been pulled for long.
func pulling(p *podFacts) (s sign) {
	e := lastEvent(p.events, reasonIs("Pulling", "Pulled", "Failed", "BackOff", "Created", "Started"))
	if e == nil || e.Reason != "Pulling" || !p.f.overdue(timeOf(e)) || p.runs() {
		return s
	}
	_, image, _ := strings.Cut(e.Message, "Pulling image ")
	return sign{text: "image " + image + " has been pulled " + p.f.lasting(timeOf(e)) + " on node " + p.node, event: e}
}

// initializing finds an init container that has run for long.
func initializing(p *podFacts) (s sign) {
	for _, c := range p.all {
		if running := c.State.Running; c.role == "init container" && running != nil &&
			p.f.past(running.StartedAt.Time, longPatience) {
			return sign{text: c.String() + " has been running " + p.f.lasting(running.StartedAt.Time), container: c.Name}
		}
	}
	return s
}

// resizing finds a resize in place that is not done (KEP-1287).
func resizing(p *podFacts) (s sign) {
	for _, kind := range []corev1.PodConditionType{"PodResizePending", "PodResizeInProgress"} {
		c := condition(p.Pod, kind)
		if c.Status == corev1.ConditionTrue && (c.Reason != "" || p.f.overdue(c.LastTransitionTime.Time)) {
			return sign{text: joined(": ", string(kind)+" "+p.f.lasting(c.LastTransitionTime.Time), c.Reason, oneLine(c.Message))}
		}
	}
	return s
}

// starting finds a pod that has yet to run, and says what it does.
func starting(p *podFacts) (s sign) {
	if p.runs() || p.f.past(p.since, longPatience) {
		return s
	}
	return sign{text: p.doing()}
}

// unexplained finds a pod that does not run, though nothing says why.
func unexplained(p *podFacts) (s sign) {
	if p.runs() || !p.f.past(p.since, longPatience) {
		return s
	}
	s.text = p.doing() + textIf(!p.since.IsZero(), ", "+p.f.lasting(p.since))
	if e := lastEvent(p.events, func(*corev1.Event) bool { return true }); e != nil {
		s.event, s.text = e, s.text+"; its last event, "+p.f.ago(timeOf(e))+", is "+joined(": ", e.Reason, oneLine(e.Message))
	}
	return s
}

// doing says what a pod that does not run waits for.
func (p *podFacts) doing() string {
	phase := "its phase is " + cmp.Or(string(p.Status.Phase), "not set")
	if p.node == "" {
		return phase + ", and it has no node"
	}
	for _, c := range p.all {
		switch {
		case c.role == "init container" && c.State.Running != nil:
			return c.String() + " runs"
		case c.State.Waiting != nil && c.State.Waiting.Reason != "PodInitializing":
			return joined(": ", c.String()+" waits", c.State.Waiting.Reason, oneLine(c.State.Waiting.Message))
		}
	}
	return phase + " on node " + p.node
}

// After the work.

// sidecarRunning finds a sidecar that still runs after its grace period although all containers have
// finished.
func sidecarRunning(p *podFacts) (s sign) {
	last, running := p.finished()
	if running != nil || last.IsZero() || !p.f.overdue(last) {
		return s
	}
	// in seconds; the default is shorter than patience
	grace := cmp.Or(p.Spec.TerminationGracePeriodSeconds, new(int64))
	if p.f.now.Sub(last)/time.Second < time.Duration(*grace) {
		return s
	}
	for _, c := range p.all {
		if c.role == "sidecar" && c.State.Running != nil {
			return p.outlasts(c, last)
		}
	}
	return s
}

func (p *podFacts) outlasts(c container, last time.Time) sign {
	return sign{text: "container " + c.Name + " is still running, though the others finished " + p.f.ago(last),
		container: c.Name}
}

// finished returns when the last container finished, and the first one that still runs; zero if one
// has yet to start.
func (p *podFacts) finished() (last time.Time, running *container) {
	for i, c := range p.all {
		switch {
		case c.role != "container":
		case c.State.Terminated != nil:
			last = latest(last, c.State.Terminated.FinishedAt.Time)
		case c.State.Running == nil:
			return time.Time{}, nil
		case running == nil:
			running = &p.all[i]
		}
	}
	return last, running
}

// servers are parts of the names of containers that serve others and do not end by themselves.
var servers = []string{"proxy", "envoy", "agent", "sidecar", "exporter", "fluent", "collector", "daemon"}

// containerRunning finds a container that serves the others and still runs long after they have
// finished. A main container may outlast its helpers.
func containerRunning(p *podFacts) (s sign) {
	last, running := p.finished()
	if running == nil || !p.f.past(last, longPatience) {
		return s
	}
	main := p.Annotations["kubectl.kubernetes.io/default-container"]
	for i := range p.f.job.Spec.Template.Spec.Containers { // statuses are in the order of their names
		if c := &p.f.job.Spec.Template.Spec.Containers[i]; main == "" && !mentions(c.Name, servers...) {
			main = c.Name
		}
	}
	for _, c := range p.all {
		if main == "" && c.role == "container" && !mentions(c.Name, servers...) {
			main = c.Name
		}
	}
	for _, c := range p.all {
		if c.Name == main && c.State.Terminated != nil && c.role == "container" {
			return p.outlasts(*running, last)
		}
	}
	return s
}
