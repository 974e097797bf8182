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
	// NoMatch: no rule matched.
	NoMatch Kind = iota
	// ByExitCode: Container and ExitCode say which.
	ByExitCode
	// ByPodCondition: Condition says which.
	ByPodCondition
	// ByMatcher: Detail says what the Matcher said.
	ByMatcher
)

// Match is the rule that decides the fate of a failed pod, and why it does. The
// zero Match is that of no rule.
type Match struct {
	// Kind tells the kinds of requirement apart.
	Kind Kind
	// Rule is the position of the rule. Without a match it means nothing;
	// [Policy.Match] then sets it to -1.
	Rule int
	// Name is the name of the rule; often empty.
	Name string
	// Action is what to do; empty without a match.
	Action batchv1.PodFailurePolicyAction
	// Container and ExitCode are those of the first container that matched.
	Container string
	ExitCode  int32
	// Condition is the type of the first pod condition that matched.
	Condition corev1.PodConditionType
	// Detail is what a Matcher said.
	Detail string
	// Pod is the pod that was matched.
	Pod types.NamespacedName
}

// Matched reports whether a rule matched.
func (m Match) Matched() bool { return m.Action != "" }

// Counts reports whether the failure counts towards the backoff limits. Only an
// Ignore rule takes it out.
func (m Match) Counts() bool { return m.Action != batchv1.PodFailurePolicyActionIgnore }

// Message returns the message of the condition with which the Job fails; empty
// when it does not fail. It is that of the Job controller, byte for byte, where
// the Job controller has one.
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

// Explain returns which rule matched and on what, for people to read.
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
