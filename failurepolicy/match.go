package failurepolicy

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is the kind of requirement that a pod met.
type Kind uint8

const (
	// NoMatch means that no rule matched.
	NoMatch Kind = iota
	// ByExitCode means that Container and ExitCode are set.
	ByExitCode
	// ByPodCondition means that Condition is set.
	ByPodCondition
	// ByMatcher means that Detail is set.
	ByMatcher
)

// Match is the rule that decides about a failed pod, with the evidence. The zero Match
// means that no rule matched.
type Match struct {
	// Kind is the kind of requirement that the pod met.
	Kind Kind
	// Rule is the position of the rule. It is meaningless without a match; [Policy.Match]
	// then sets it to -1.
	Rule int
	// Name is the name of the rule; often empty.
	Name string
	// Action is the action of the rule; empty without a match.
	Action batchv1.PodFailurePolicyAction
	// Container and ExitCode are those of the first container that matched.
	Container string
	ExitCode  int32
	// Condition is the type of the first pod condition that matched.
	Condition corev1.PodConditionType
	// Detail is the detail that a Matcher returned.
	Detail string
	// Pod is the pod that was matched.
	Pod types.NamespacedName
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
	switch m.Kind {
	case ByExitCode:
		return fmt.Sprintf("Container %s for pod %s failed with exit code %d%s", m.Container, m.Pod, m.ExitCode, rule)
	case ByPodCondition:
		return fmt.Sprintf("Pod %s has condition %s%s", m.Pod, m.Condition, rule)
	}
	if m.Detail == "" {
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
	case m.Kind == ByExitCode:
		text += fmt.Sprintf(" on container %s, exit code %d", m.Container, m.ExitCode)
	case m.Kind == ByPodCondition:
		text += fmt.Sprintf(" on pod condition %s", m.Condition)
	case m.Detail != "":
		text += " on " + m.Detail
	}
	return text
}
