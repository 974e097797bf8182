package failurepolicy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Option changes how [Compile] reads a Spec.
type Option func(*options)

type options struct {
	withoutFailIndex bool
}

// WithoutFailIndex switches per-index backoff off: rules with the action
// FailIndex are passed over, and a later rule may match (KEP-3850, Rollback).
func WithoutFailIndex() Option {
	return func(o *options) { o.withoutFailIndex = true }
}

// Policy is a [Spec] made ready to judge pods. It does not change, and does not
// share anything with the Spec but its Matchers. A nil Policy matches nothing.
type Policy struct {
	rules []rule
	size  int
}

// rule is a rule that can decide.
type rule struct {
	position int
	name     string
	action   batchv1.PodFailurePolicyAction
	kind     Kind
	codes    codes
	patterns []batchv1.PodFailurePolicyOnPodConditionsPattern
	matcher  Matcher
}

// Compile makes a Spec ready to judge pods. A nil Spec gives a nil Policy.
func Compile(s *Spec, opts ...Option) *Policy {
	if s == nil {
		return nil
	}
	var o options
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	p := &Policy{size: len(s.Rules)}
	for i := range s.Rules {
		if r := compile(i, &s.Rules[i]); r.kind != NoMatch && decides(r.action, o) {
			p.rules = append(p.rules, r)
		}
	}
	return p
}

// decides reports whether a rule with this action ends the search. API: "Clients
// should react to an unknown action by skipping the rule."
func decides(a batchv1.PodFailurePolicyAction, o options) bool {
	switch a {
	case batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionIgnore,
		batchv1.PodFailurePolicyActionCount:
		return true
	case batchv1.PodFailurePolicyActionFailIndex:
		return !o.withoutFailIndex
	}
	return false
}

// compile picks the requirement to look at; the kind is NoMatch when there is
// none that could be met.
func compile(position int, r *Rule) rule {
	c := rule{position: position, name: r.Name, action: r.Action}
	switch {
	case r.OnExitCodes != nil:
		var known bool
		if c.codes, known = compileCodes(r.OnExitCodes); known {
			c.kind = ByExitCode
		}
	case len(r.OnPodConditions) > 0:
		c.kind, c.patterns = ByPodCondition, slices.Clone(r.OnPodConditions)
		for i := range c.patterns {
			if c.patterns[i].Status == "" { // as the API server fills it in
				c.patterns[i].Status = corev1.ConditionTrue
			}
		}
	case r.Matcher != nil:
		c.kind, c.matcher = ByMatcher, r.Matcher
	}
	return c
}

// Len returns the number of rules in the Spec, those that are passed over
// included.
func (p *Policy) Len() int {
	if p == nil {
		return 0
	}
	return p.size
}

// Match returns which rule decides the fate of a failed pod. It takes the pod as
// failed and looks at its status only. A nil pod matches nothing.
func (p *Policy) Match(pod *corev1.Pod) Match {
	m := Match{Rule: -1}
	if p == nil || pod == nil {
		return m
	}
	for i := range p.rules {
		r := &p.rules[i]
		if r.meets(pod, &m) {
			m.Kind, m.Rule, m.Name, m.Action = r.kind, r.position, r.name, r.action
			m.Pod = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
			break
		}
	}
	return m
}

// meets reports whether the pod meets the requirement, and if so notes in m what
// met it.
func (r *rule) meets(pod *corev1.Pod, m *Match) bool {
	switch r.kind {
	case ByExitCode:
		status := r.codes.first(pod.Status.ContainerStatuses)
		if status == nil {
			status = r.codes.first(pod.Status.InitContainerStatuses)
		}
		if status == nil {
			return false
		}
		m.Container, m.ExitCode = status.Name, status.State.Terminated.ExitCode
	case ByPodCondition:
		c := firstCondition(pod.Status.Conditions, r.patterns)
		if c == nil {
			return false
		}
		m.Condition = c.Type
	default:
		detail, ok := r.matcher(pod)
		if !ok {
			return false
		}
		m.Detail = detail
	}
	return true
}
