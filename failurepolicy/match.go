package failurepolicy

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Match is the rule that decides about a failed pod, with the evidence. The zero Match
// means that no rule matched.
type Match struct {
	// Rule is the position of the rule. It is meaningless without a match; [Spec.Match]
	// then sets it to -1.
	Rule int
	// Name is the name of the rule; often empty.
	Name string
	// Action is the action of the rule; empty without a match.
	Action batchv1.PodFailurePolicyAction
	// Container and ExitCode are those of the first container that matched, if the rule is
	// on exit codes. ExitCode is then not 0.
	Container string
	ExitCode  int32
	// Condition is the type of the first pod condition that matched, if the rule is on
	// conditions.
	Condition corev1.PodConditionType
	// Detail is the detail that a Matcher returned.
	Detail string
	// Pod is the pod that was matched.
	Pod types.NamespacedName
}

// Match returns the rule that decides about a failed pod. A nil pod and a nil Spec match nothing.
// Match does not allocate, unless a Matcher does.
//
// The caller must know that the pod counts as failed: Match reads the containers and conditions,
// not the phase. A running pod matches on a container that has failed already. The Job controller
// matches pods with the phase Failed, and running pods in one case: when the Job fails, they count
// as failed unless an Ignore rule matches them.
func (s *Spec) Match(pod *corev1.Pod) Match {
	if s == nil || pod == nil {
		return Match{Rule: -1}
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		m := Match{Rule: i, Name: r.Name, Action: r.Action,
			Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}}
		if slices.Contains(actions, r.Action) && r.meets(pod, &m) {
			return m
		}
	}
	return Match{Rule: -1}
}

// actions lists the known actions. API: "Clients should react to an unknown action by skipping
// the rule."
var actions = []batchv1.PodFailurePolicyAction{
	batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex,
	batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount,
}

// meets reports whether the pod meets the requirement. If it does, meets records the
// evidence in out. The order of the pod's conditions decides, not that of the patterns.
func (r *Rule) meets(pod *corev1.Pod, out *Match) bool {
	switch {
	case r.OnExitCodes != nil:
		for name, end := range failed(pod) {
			if exits(name, end.ExitCode, r.OnExitCodes) {
				out.Container, out.ExitCode = name, end.ExitCode
				return true
			}
		}
	case len(r.OnPodConditions) > 0:
		for i := range pod.Status.Conditions {
			c := &pod.Status.Conditions[i]
			for j := range r.OnPodConditions {
				p := &r.OnPodConditions[j]
				if c.Type == p.Type && c.Status == cmp.Or(p.Status, corev1.ConditionTrue) {
					out.Condition = c.Type
					return true
				}
			}
		}
	case r.Matcher != nil:
		detail, ok := r.Matcher(pod)
		out.Detail = detail
		return ok
	}
	return false
}

// failed yields the containers of a pod that have terminated with another exit code than 0.
func failed(pod *corev1.Pod) iter.Seq2[string, *corev1.ContainerStateTerminated] {
	return func(yield func(string, *corev1.ContainerStateTerminated) bool) {
		for _, list := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses,
			pod.Status.InitContainerStatuses} {
			for i := range list {
				end := list[i].State.Terminated
				if end != nil && end.ExitCode != 0 && !yield(list[i].Name, end) {
					return
				}
			}
		}
	}
}

// exits reports whether a container that has failed meets a requirement on exit codes. API: "Clients
// should react to an unknown operator by assuming the requirement is not satisfied."
func exits(name string, code int32, r *batchv1.PodFailurePolicyOnExitCodesRequirement) bool {
	if r.ContainerName != nil && *r.ContainerName != name {
		return false
	}
	if slices.Contains(r.Values, code) {
		return r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn
	}
	return r.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn
}

// Matched reports whether a rule matched.
func (m Match) Matched() bool { return m.Action != "" }

// Counts reports whether the failure counts towards the backoff limits. It does, unless an
// Ignore rule matched.
func (m Match) Counts() bool { return m.Action != batchv1.PodFailurePolicyActionIgnore }

// Message returns the message of the condition with which the Job fails; empty if it does
// not fail. If the Job controller has such a message, it is the same, byte for byte.
func (m Match) Message() string {
	if m.Action != batchv1.PodFailurePolicyActionFailJob {
		return ""
	}
	rule := ofRule + strconv.Itoa(m.Rule)
	switch {
	case m.ExitCode != 0:
		return fmt.Sprintf("Container %s for pod %s failed with exit code %d%s", m.Container, m.Pod, m.ExitCode, rule)
	case m.Condition != "":
		return fmt.Sprintf("Pod %s has condition %s%s", m.Pod, m.Condition, rule)
	case m.Detail == "":
		return fmt.Sprintf("Pod %s failed%s", m.Pod, rule)
	}
	return fmt.Sprintf("Pod %s failed with %s%s", m.Pod, m.Detail, rule)
}

// Explain returns a text that says which rule matched, and why.
func (m Match) Explain() string {
	if !m.Matched() {
		return "no rule matched"
	}
	text := fmt.Sprintf("rule %d", m.Rule)
	if m.Name != "" {
		text += fmt.Sprintf(" (%s)", m.Name)
	}
	switch {
	case m.ExitCode != 0:
		text += fmt.Sprintf(" on container %s, exit code %d", m.Container, m.ExitCode)
	case m.Condition != "":
		text += fmt.Sprintf(" on pod condition %s", m.Condition)
	case m.Detail != "":
		text += " on " + m.Detail
	}
	return text
}
