package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// nodeUnwell finds a node that is not ready by what its kubelet says.
func nodeUnwell(p *podFacts) (s sign) {
	if p.f.kubeletSays(p.node) != "" {
		return nodeLost(p)
	}
	return s
}

func nodeLost(p *podFacts) (s sign) {
	if text := p.f.notReady(p.node); text != "" {
		since := p.f.readyCondition(p.node).LastTransitionTime.Time
		s = sign{text: text + p.evicted(since), about: "node/" + p.node}
	} else if p.Status.Phase == corev1.PodUnknown || p.Status.Reason == "NodeLost" {
		s.text = joined(": ", joined(", on node ", "the pod's phase is "+string(p.Status.Phase), p.node),
			oneLine(p.Status.Message))
	} else if since, e := p.markedNotReady(); p.f.nodes[p.node] == nil && p.f.overdue(since) {
		s = sign{text: "node " + p.node + " was not ready " + p.f.ago(since) + p.evicted(since), event: e}
	}
	return s
}

// markedNotReady returns since when the pod has not been Ready because its node was not, with the event if it is given.
// A kubelet that sets the condition Ready to False gives a reason; the controller that watches the node does not.
func (p *podFacts) markedNotReady() (since time.Time, e *corev1.Event) {
	c, e := condition(p.Pod, corev1.PodReady), lastEvent(p.events, reasonIs("NodeNotReady"))
	switch {
	case c.Status != corev1.ConditionFalse:
	case e != nil:
		since = timeOf(e)
	case c.Reason == "" && condition(p.Pod, corev1.ContainersReady).Status == corev1.ConditionTrue:
		since = c.LastTransitionTime.Time
	}
	return since, e
}

// evicted says when the taint of a node that is not ready evicts the pod: the admission plugin
// DefaultTolerationSeconds lets pods stay for five minutes.
func (p *podFacts) evicted(since time.Time) string {
	for _, t := range p.Spec.Tolerations {
		if t.Effect == corev1.TaintEffectNoExecute && t.TolerationSeconds != nil && !since.IsZero() &&
			(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) {
			at := since.Add(time.Duration(*t.TolerationSeconds) * time.Second)
			return either(at.After(p.f.Now), "; its pods are evicted at ", "; its pods should have been evicted at ") +
				p.f.clock(at)
		}
	}
	return ""
}

func nodeMissing(p *podFacts) (s sign) {
	if p.f.nodeMissing(p.Pod) && p.f.overdue(p.since) {
		s.text = fmt.Sprintf("node %s is not among the %s of the cluster", p.node, count(len(p.f.nodes), "node"))
	}
	return s
}

// unplaced reports whether the pod has no node, and the scheduler has said why.
func (p *podFacts) unplaced() bool {
	return p.node == "" && p.scheduled.Type != "" && p.scheduled.Status != corev1.ConditionTrue
}

// schedulerSays returns what the scheduler said last about the pod, and the event if that is newer than
// the condition or there is no condition. It does not look at a pod with scheduling gates.
func (p *podFacts) schedulerSays() (string, *corev1.Event) {
	if len(p.Spec.SchedulingGates) > 0 {
		return "", nil
	}
	e := lastEvent(p.events, func(e *corev1.Event) bool { return e.Reason == "FailedScheduling" && !addsNoNode(e) })
	if p.unplaced() && p.scheduled.Message != "" {
		return p.scheduled.Message, e
	}
	if e != nil {
		return e.Message, e
	}
	return cmp.Or(textIf(p.unplaced(), cmp.Or(p.scheduled.Reason, "the condition PodScheduled is not True"))), nil
}

func gated(p *podFacts) (s sign) {
	if !p.f.overdue(p.CreationTimestamp.Time) {
		return s
	}
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
	text, e := p.schedulerSays()
	if mentions(text, "resourceclaim") && mentions(text, "not found", "is being deleted") {
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
	if mentions(text, "minCount ", "PodGroup", "pod group") {
		return sign{text: joined("; ", p.f.gang(p.Pod), oneLine(text)), event: e}
	}
	if gang := p.f.gang(p.Pod); gang != "" && p.f.overdue(p.since) {
		return sign{text: gang}
	}
	return s
}

// volumeLost finds that the volume of a claim is gone (pkg/controller/volume/persistentvolume/pv_controller.go).
func volumeLost(p *podFacts) sign {
	s := volumeUnbound(p)
	return either(mentions(s.text, " is Lost"), s, sign{})
}

// claimNotFound finds that a claim does not exist, with those that the namespace has.
func claimNotFound(p *podFacts) sign {
	s := volumeUnbound(p)
	if !noClaim.MatchString(s.text) {
		return sign{}
	}
	s.text += p.f.given("PersistentVolumeClaim")
	return s
}

// noClaim matches the message of the scheduler about a claim that does not exist (plugins/volumebinding).
var noClaim = regexp.MustCompile(`persistentvolumeclaim "[^"]+" not found`)

// ownAffinity finds that the anti-affinity of the Job's own pods, some of which have a node, leaves none for the pod.
func ownAffinity(p *podFacts) sign {
	s := unschedulable("anti-affinity")(p)
	affinity := cmp.Or(p.f.Job.Spec.Template.Spec.Affinity, &corev1.Affinity{})
	placed := slices.ContainsFunc(p.f.pods, func(r *record) bool { return r.Active && r.Pod.Spec.NodeName != "" })
	return either(placed && affinity.PodAntiAffinity != nil, s, sign{})
}

// classMissing finds that the storage class of a claim does not exist.
func classMissing(p *podFacts) sign {
	s := volumeUnbound(p)
	return either(mentions(s.text, "storageclass.storage.k8s.io") && mentions(s.text, "not found"), s, sign{})
}

// volumeUnbound finds a PersistentVolumeClaim that keeps the pod from being scheduled
// (plugins/volumebinding), with what the claim itself says.
func volumeUnbound(p *podFacts) (s sign) {
	if p.node != "" {
		return s
	}
	text, e := p.schedulerSays()
	refused := mentions(text, "PersistentVolumeClaims", "persistentvolumeclaim", "provisioning failed for PVC")
	if !refused && !p.f.overdue(p.since) {
		return s
	}
	s = sign{text: textIf(refused, oneLine(text)), event: e}
	for _, name := range p.f.claims(p.Pod) {
		claim := p.f.find("PersistentVolumeClaim", p.Namespace, name)
		if claim != nil && claim.text("status", "phase") == "Bound" {
			continue
		}
		// The scheduler has chosen a node, and says nothing while it waits for the volume.
		chosen := claim.text("metadata", "annotations", "volume.kubernetes.io/selected-node")
		switch {
		case refused:
		case chosen == "":
			continue
		default:
			s.text = "a volume is being made for node " + chosen
		}
		about := p.f.about("PersistentVolumeClaim", p.Namespace, name)
		if claim == nil && about == nil {
			continue
		}
		s.about = "persistentvolumeclaim/" + name
		s.text += "; PersistentVolumeClaim " + joined(" is ", name, claim.text("status", "phase"))
		if e := lastEvent(about, func(e *corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning || reasonIs("FailedBinding", "ExternalProvisioning")(e)
		}); e != nil {
			s.event, s.text = e, s.text+": "+e.Reason+": "+oneLine(e.Message)
		}
		break
	}
	return s
}

// selects reports whether a node has the labels of the pod's node selector.
func (p *podFacts) selects(node *corev1.Node) bool {
	for key, value := range p.Spec.NodeSelector { // a Selector takes longer, for each pod and node
		if node.Labels[key] != value {
			return false
		}
	}
	return true
}

// claims returns the names of the PersistentVolumeClaims of a pod. A pod without volumes was given without them.
func (f *facts) claims(pod *corev1.Pod) (names []string) {
	volumes := pod.Spec.Volumes
	if len(volumes) == 0 {
		volumes = f.Job.Spec.Template.Spec.Volumes
	}
	for _, v := range volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, pod.Name+"-"+v.Name)
		}
	}
	return names
}

// grows returns the last event that says that a node is being added for the pod, unless an
// autoscaler has given up since.
func (p *podFacts) grows() *corev1.Event {
	e := lastEvent(p.events, ofAutoscaler)
	if e == nil || addsNoNode(e) || p.f.past(timeOf(e), longPatience) {
		return nil
	}
	return e
}

// addsNone returns the event by which the autoscaler adds no node for the pod; nil if it has not said so last.
func (p *podFacts) addsNone() *corev1.Event {
	e := lastEvent(p.events, ofAutoscaler)
	return either(e != nil && addsNoNode(e), e, nil)
}

// atLimit lists what autoscalers say if a node would help, and they may not or cannot add it now (cluster-autoscaler,
// core/scaleup/orchestrator/rejectedreasons.go and core/scaleup/resource/manager.go).
var atLimit = []string{"max node group size", "limit reached", "limits reached", "in backoff", "not ready for scale-up"}

// scaleUpRefused finds that nodes lack a resource, and that the autoscaler adds none. If a new node would be refused as
// the others are, say for its taint, the rows of the scheduler's reasons tell more.
func scaleUpRefused(p *podFacts) (s sign) {
	e := p.addsNone()
	if !p.unplaced() || e == nil {
		return s
	}
	text, _ := p.schedulerSays()
	known := strings.Contains(text, "nodes are available: ")
	if known && e.Reason != "FailedScaleUp" && !mentions(e.Message, atLimit...) &&
		!mentions(p.decisive(text), "Insufficient ", "Too many pods") {
		return s
	}
	s.text = strings.TrimSuffix(oneLine(text), ".") + "; " + oneLine(e.Message) + p.f.holders(p.decisive(text)) +
		p.f.cordonedIn(text)
	s.event = e
	return s
}

// noMachines matches what clouds say that have no machine of the kind that is asked for, as autoscalers report it.
var noMachines = regexp.MustCompile(`(?i)out of resources|insufficient ?(instance)? ?capacity|AllocationFailed|` +
	`SkuNotAvailable|RESOURCE_POOL_EXHAUSTED`)

// soldOut finds that an autoscaler asks for nodes, and the cloud has none.
func soldOut(p *podFacts) sign {
	e := lastEvent(p.events, func(e *corev1.Event) bool { return addsNoNode(e) && noMachines.MatchString(e.Message) })
	s := scaleUpRefused(p)
	if e == nil || s.text == "" {
		return sign{}
	}
	if e != s.event {
		s.text, s.event = oneLine(e.Message)+"; "+s.text, e
	}
	return s
}

// noPodsLeft finds the same where nodes run as many pods as they may.
func noPodsLeft(p *podFacts) sign {
	text, _ := p.schedulerSays()
	return either(mentions(p.decisive(text), "Too many pods"), scaleUpRefused(p), sign{})
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
	if grows == nil && (since.IsZero() || p.f.overdue(since) || p.addsNone() != nil) {
		return s
	}
	if grows != nil { // what the nodes of today lack says little
		return sign{text: "a node is being added, as of " + p.f.ago(timeOf(grows)) + ": " + oneLine(grows.Message),
			event: grows}
	}
	return sign{text: oneLine(text), event: e}
}

// unschedulable returns the finder for a pod that no node can take, where the decisive reason has one of the parts;
// without parts, any.
func unschedulable(parts ...string) func(*podFacts) sign {
	return func(p *podFacts) (s sign) {
		if p.node != "" || notScheduledYet(p).text != "" {
			return s
		}
		text, e := p.schedulerSays()
		if text == "" || !mentions(p.decisive(text), parts...) {
			return s
		}
		s = sign{text: oneLine(text), event: e}
		if none := p.addsNone(); none != nil {
			s.text = strings.TrimSuffix(s.text, ".") + "; " + oneLine(none.Message)
		}
		return s
	}
}

// noNodeSelected finds that no node which is given has the labels of the pod's node selector, though the scheduler saw
// that of none that is cordoned.
func noNodeSelected(p *podFacts) sign {
	s := unschedulable("node affinity/selector", "were unschedulable")(p)
	if s.text == "" || len(p.Spec.NodeSelector) == 0 || len(p.f.nodes) == 0 ||
		slices.ContainsFunc(slices.Collect(maps.Values(p.f.nodes)), p.selects) {
		return sign{}
	}
	s.text = strings.TrimSuffix(s.text, ".") + "; none of the " + count(len(p.f.nodes), "node") +
		" given matches the nodeSelector " + labels.Set(p.Spec.NodeSelector).String()
	return s
}

// nodesTainted finds that each node given that is meant for the pod has a taint which the pod does not tolerate: by the
// node selector or, without one, by a toleration for another value of the taint.
func nodesTainted(p *podFacts) sign {
	s := unschedulable()(p)
	if !mentions(s.text, "taint") {
		return sign{}
	}
	var says []string
	for _, name := range slices.Sorted(maps.Keys(p.f.nodes)) {
		node := p.f.nodes[name]
		meant := p.selects(node)
		if !meant {
			continue
		}
		taint := firstOf(node.Spec.Taints,
			func(t corev1.Taint) bool { return !broken.MatchString(t.Key) && p.keptAway(t) })
		if len(p.Spec.NodeSelector) == 0 {
			meant = slices.ContainsFunc(p.Spec.Tolerations,
				func(t corev1.Toleration) bool { return taint.Key != "" && t.Key == taint.Key })
		}
		switch {
		case meant && taint.Key == "":
			return sign{}
		case meant:
			says = append(says, node.Name+" ("+taint.ToString()+")")
		}
	}
	return s.ofTaints("the pod does not tolerate the taint of the nodes that it is meant for: ", says)
}

// ofTaints returns a sign that begins with nodes and their taints; empty without nodes.
func (s sign) ofTaints(text string, nodes []string) sign {
	s.text = text + strings.Join(nodes[:min(2, len(nodes))], ", ") + "; " + s.text
	return either(len(nodes) > 0, s, sign{})
}

// keptAway reports whether a taint keeps the pod from a node.
func (p *podFacts) keptAway(taint corev1.Taint) bool {
	tolerates := func(t corev1.Toleration) bool {
		return (t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists) &&
			(t.Effect == "" || t.Effect == taint.Effect) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
	}
	return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(p.Spec.Tolerations, tolerates)
}

// claimUnallocated finds that nodes lack a device that a ResourceClaim asks for, with who holds such devices.
func claimUnallocated(p *podFacts) sign {
	s := unschedulable("allocate all claims", "esourceclaim", "resource claim", "device class")(p)
	if held := p.devicesHeld(); held != "" && s.text != "" {
		s.text = strings.TrimSuffix(s.text, ".") + "; " + held
	}
	return s
}

// cordoned finds that the nodes which a volume admits are cordoned, as far as the message shows: all others are in
// another place than the volume (plugins/volumebinding/binder.go ErrReasonNodeConflict).
func cordoned(p *podFacts) sign {
	s := unschedulable()(p)
	if !mentions(s.text, "PersistentVolume's node affinity", "volume node affinity conflict") ||
		!mentions(s.text, "were unschedulable") || mentions(s.text, "Insufficient ", "Too many pods") {
		return sign{}
	}
	s.text += p.f.cordonedIn(s.text)
	return s
}

// broken matches the keys of taints that say that a node is not ready, or short of something. Such a taint goes when
// the node is well.
var broken = regexp.MustCompile(`^node\.(cloudprovider\.)?kubernetes\.io/|not-ready$|agent-not`)

// taintKey matches a taint in a message of the scheduler up to 1.36; later messages do not name it.
var taintKey = regexp.MustCompile(`taint\(?s?\)? \{([^:}]+)`)

// controlPlane has the taints of control planes.
var controlPlane = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// nodesBroken finds that the taints of the nodes, apart from those of control planes, say that the nodes are not well.
func nodesBroken(p *podFacts) (s sign) {
	s = unschedulable("taint")(p)
	if s.text == "" {
		return s
	}
	taints := p.f.taints
	if named := taintKey.FindAllStringSubmatch(s.text, -1); named != nil {
		taints = map[string][]string{}
		for _, m := range named {
			taints[m[1]] = nil
		}
	}
	found := false
	for _, key := range slices.Sorted(maps.Keys(taints)) {
		nodes := taints[key]
		switch {
		case slices.Contains(controlPlane, key) || key == corev1.TaintNodeUnschedulable:
			continue
		case !broken.MatchString(key):
			return sign{}
		case nodes != nil:
			s.text = strings.TrimSuffix(s.text, ".") + "; " + list(nodes) +
				either(len(nodes) > 1, " have", " has") + " the taint " + key
		}
		found = true
	}
	return either(found, s, sign{})
}

// list renders the first names of a list.
func list(names []string) string {
	const most = 5
	return strings.Join(names[:min(most, len(names))], ", ") +
		textIf(len(names) > most, fmt.Sprintf(" and %d others", len(names)-most))
}

// filters has parts of the reasons of the scheduler in the order of the plugins that give them
// (pkg/scheduler/apis/config/v1/default_plugins.go). A node is asked until one refuses. The first ones do not look at
// what runs on the node.
var filters = [...]string{"requested node name", "taint", "were unschedulable", "node affinity/selector", "free ports",
	"Insufficient ", "Too many pods", "volume", "CSI driver", "PersistentVolume", "available disk", "free storage",
	"pv(s)", "ReadWriteOncePod", "topology spread constraints", "affinity rules", "allocate all claims"}

const firstFilters = 4

// decisive returns the reason of the nodes that came closest to take the pod, in a message of the scheduler such as
// "0/5 nodes are available: 3 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: …": the last filter
// refused them. Of the reasons of the first filters, and of one filter, it is that of most nodes; nodes of the control
// plane do not count. It is the whole message if that has another form.
func (p *podFacts) decisive(message string) string {
	list, _, _ := strings.Cut(message, ". ")
	_, list, found := strings.Cut(list, "nodes are available: ")
	if !found {
		return message
	}
	best, main := [3]int{-1}, message
	for part := range strings.SplitSeq(list, ", ") {
		n := 0
		if _, err := fmt.Sscanf(part, "%d", &n); err != nil {
			continue
		}
		_, why, _ := strings.Cut(part, " ")
		filter := slices.IndexFunc(filters[:], func(f string) bool { return strings.Contains(why, f) })
		if strings.Contains(why, "taint") {
			key := taintKey.FindStringSubmatch(why)
			for _, of := range controlPlane {
				switch {
				case key == nil:
					n += either(p.f.meantBroken(), 1<<20, -len(p.f.taints[of]))
				case key[1] == of:
					n = 0
				}
			}
		}
		if rank := [3]int{max(0, filter-firstFilters+1), n, filter}; slices.Compare(rank[:], best[:]) > 0 {
			best, main = rank, why
		}
	}
	return main
}

// meantBroken reports whether a node that the pods are meant for, by their node selector, has a taint that says that it
// is not well.
func (f *facts) meantBroken() bool {
	if f.broken == nil {
		p, found := &podFacts{Pod: &corev1.Pod{Spec: f.Job.Spec.Template.Spec}, f: f}, false
		for _, node := range f.nodes {
			found = found || len(p.Spec.NodeSelector) > 0 && p.selects(node) && slices.ContainsFunc(node.Spec.Taints,
				func(t corev1.Taint) bool { return broken.MatchString(t.Key) && p.keptAway(t) })
		}
		f.broken = &found
	}
	return *f.broken
}

func noScheduler(p *podFacts) (s sign) {
	if p.node == "" && p.scheduled.Type == "" && p.Status.Phase == corev1.PodPending &&
		p.Status.NominatedNodeName == "" && p.f.overdue(p.CreationTimestamp.Time) {
		s.text = "schedulerName is " + cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
		if e := lastEvent(p.events, anyEvent); e != nil {
			s.event, s.text = e, s.text+"; its last event is "+e.Reason+": "+oneLine(e.Message)
		}
	}
	return s
}
