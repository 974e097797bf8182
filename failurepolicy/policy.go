package failurepolicy

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Policy is a compiled [Spec]. It is immutable, and shares only the Matchers with the
// Spec. A nil Policy matches nothing.
type Policy struct {
	rules []rule
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

// Match returns the rule that decides about a failed pod. It assumes that the pod has
// failed, and reads only its status. A nil pod matches nothing.
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

// meets reports whether the pod meets the requirement. If it does, meets records the
// evidence in m.
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
