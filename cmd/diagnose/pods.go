package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/explain"
)

// sign is what shows a cause in a pod; without a text there is none.
type sign struct {
	text      string
	container string
	node      string
	event     *corev1.Event // nil if the pod's own status shows it
	about     string        // another object that shows it
	object    string        // its kind and name, for advice
	names     []string      // of servers that the text is about
	how       string        // completes the advice
	says      string        // the message that the last run of the container has left
}

// podFacts holds the facts of an active pod.
type podFacts struct {
	*corev1.Pod
	f         *facts
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

// containers returns the containers of the pod template of the Job as plain values, so that fields which the types of
// the API lack are found.
func (f *facts) containers() []object {
	if f.template == nil {
		spec := f.uids[f.Job.UID]
		if spec == nil {
			spec, _ = runtime.DefaultUnstructuredConverter.ToUnstructured(f.Job)
		}
		spec = spec.at("spec", "template", "spec")
		f.template = slices.Concat(spec.list("containers"), spec.list("initContainers"))
	}
	return f.template
}

// isWell reports whether the main containers of a pod run, and nothing in the pod needs a closer examination.
func (f *facts) isWell(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodRunning || pod.Status.Reason != "" || len(f.events[pod.UID]) > 0 ||
		len(pod.Spec.SchedulingGates) > 0 || f.notReady(pod.Spec.NodeName) != "" || f.nodeMissing(pod) ||
		condition(pod, corev1.PodReady).Status == corev1.ConditionFalse ||
		len(pod.Status.InitContainerStatuses) > 0 || f.mustBeReady() {
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
	return pod.Spec.NodeName != "" && f.allNodes && len(f.nodes) > 0 && f.nodes[pod.Spec.NodeName] == nil
}

// factsOf returns the facts of a pod.
func (f *facts) factsOf(of *corev1.Pod) *podFacts {
	p := &podFacts{Pod: of, f: f, node: of.Spec.NodeName, scheduled: condition(of, corev1.PodScheduled),
		events: f.events[of.UID]}
	if p.scheduled.Reason == corev1.PodReasonSchedulingGated && len(of.Spec.SchedulingGates) == 0 {
		p.scheduled = corev1.PodCondition{} // of the API server, until a scheduler has tried
	}
	p.since = p.CreationTimestamp.Time
	if p.node != "" {
		p.since = latest(p.since, p.scheduled.LastTransitionTime.Time)
	}
	sidecars := map[string]bool{}
	for i := range of.Spec.InitContainers {
		if c := &of.Spec.InitContainers[i]; c.RestartPolicy != nil {
			sidecars[c.Name] = *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
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
func (f *facts) diagnose(pod *corev1.Pod) (*row, sign) {
	if f.isWell(pod) {
		return nil, sign{}
	}
	p := f.factsOf(pod)
	for _, last := range []bool{false, true} {
		for i := range causes {
			r := &causes[i]
			if r.pod == nil || r.last != last || last && p.runs() {
				continue
			}
			if s := r.pod(p); s.text != "" {
				return r, s
			}
		}
	}
	return nil, sign{}
}

// runs reports whether each main container of the pod runs or has ended. All may have ended just now.
func (p *podFacts) runs() bool {
	return p.Status.Phase == corev1.PodRunning && !p.hasEnded() && !slices.ContainsFunc(p.Status.ContainerStatuses,
		func(c corev1.ContainerStatus) bool { return c.State.Running == nil && c.State.Terminated == nil })
}

// hasEnded reports whether all main containers have ended, and the phase of the pod should say so.
func (p *podFacts) hasEnded() bool {
	last, running := p.finished()
	return running == nil && p.f.overdue(last) && !slices.ContainsFunc(p.all,
		func(c container) bool { return c.role == "sidecar" && c.State.Running != nil })
}

// symptom is a code that several active pods show, with the row and the sign of each.
type symptom struct {
	*row  // of the most common sign
	most  int
	pods  []*corev1.Pod
	rows  []*row
	signs []sign
}

// findSymptoms finds which active pods show the same code. It leaves out the pods that the decision deletes,
// unless the Job fails: they may show why.
func (f *facts) findSymptoms() (all []*symptom) {
	by := map[explain.Code]*symptom{}
	for _, r := range f.pods {
		if !r.Active || f.deleted[r.Pod.UID] != "" && f.failureReason() == "" {
			continue
		}
		of, s := f.diagnose(r.Pod)
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
	clue := f.clueIn(s.container, s.says)
	c.object = cmp.Or(s.object, clue.object)
	c.text = joined("; ", fmt.Sprintf("%d of %s %s: %s", len(a.pods), count(f.Progress.Active, "active pod"), a.cannot,
		s.text), textIf(mentions(s.says, "exec format error") && f.arch(pod) != "", "node "+c.node+" has architecture "+
		f.arch(pod)), clue.text)
	c.evidence, c.how = []string{cmp.Or(s.about, "pod/"+pod.Name)}, cmp.Or(s.how, "Fix what it says.")
	switch {
	case clue.of == "server":
		c.how = "See first to OBJECT, which it calls: kubectl describe."
	case clue.saying != nil:
		c.how = clue.saying.advice
	}
	c.message, c.names = cmp.Or(s.says, s.text), s.names
	if s.event != nil {
		c.evidence = append(c.evidence, f.eventText(s.event))
	}
	return c
}

// podStates returns the states of active pods, for the explanation.
func (f *facts) podStates() map[types.UID]explain.PodState {
	states := map[types.UID]explain.PodState{}
	for _, a := range f.symptoms {
		code := explain.IndexWaiting
		switch a.attention {
		case AttentionStuck:
			code = explain.IndexStuck
		case AttentionNone:
			code = explain.IndexStarting
		}
		for i, pod := range a.pods {
			states[pod.UID] = explain.PodState{Code: code, Cannot: a.rows[i].cannot, Why: a.signs[i].text}
		}
	}
	return states
}

// eventText names an event as evidence.
func (f *facts) eventText(e *corev1.Event) string {
	return "event " + e.Reason + " of " + strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name +
		textIf(!timeOf(e).IsZero(), " at "+f.clock(timeOf(e)))
}

// condition returns a condition of a pod; the zero condition if the pod does not have it.
func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	return firstOf(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
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

func anyEvent(*corev1.Event) bool { return true }

func isWarning(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning }
