package failurepolicy

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// prefix comes before the name or the position of a rule in a granular reason.
const prefix = batchv1.JobReasonPodFailurePolicy + "_"

// Reason returns the granular reason for a rule: PodFailurePolicy_{name}, or
// PodFailurePolicy_{position} for a rule without a name (KEP-4443). It is empty if there is neither
// a name nor a position, as in the result of [Spec.Match] if no rule matches. Frameworks such as
// JobSet that compare reasons with PodFailurePolicy cannot handle granular reasons:
// docs/divergences.md lists them.
func Reason(rule int, name string) string {
	switch {
	case name == "" && rule < 0:
		return ""
	case name == "":
		name = strconv.Itoa(rule)
	}
	return prefix + name
}

// Ref is the reference to a rule in a condition of a Job. A reference with neither a
// position nor a name means that an unknown rule failed the Job.
type Ref struct {
	// Index is the position of the rule; -1 for none. If it comes from a reason, it may
	// also be a name, because a rule may be named after its own position.
	Index int
	// Name is the text after the prefix of a granular reason; empty for none.
	Name string
}

// RuleOf reads which rule failed a Job from the reason and the message of its condition.
// It returns false if the reason is not that of a pod failure policy.
//
// If the reason is not granular, like that of the built-in controller, RuleOf reads the
// position from the end of the message: "... matching FailJob rule at index 1".
func RuleOf(reason, message string) (Ref, bool) {
	if reason == batchv1.JobReasonPodFailurePolicy {
		return Ref{Index: positionIn(message)}, true
	}
	name, ok := strings.CutPrefix(reason, prefix)
	if !ok || name == "" {
		return Ref{}, false
	}
	return Ref{Index: readPosition(name), Name: name}, true
}

// ofRule is the end of the Job controller's message, before the position of the rule.
const ofRule = " matching " + string(batchv1.PodFailurePolicyActionFailJob) + " rule at index "

// positionIn returns the position of the rule in a message; -1 for none.
func positionIn(message string) int {
	at := strings.LastIndex(message, ofRule)
	if at < 0 {
		return -1
	}
	return readPosition(message[at+len(ofRule):])
}

// readPosition parses a position without sign and leading zeros. It returns -1 for any other
// text.
func readPosition(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text {
		return -1
	}
	return n
}

// Find returns the position of the rule that the condition of a Job names, from a granular
// reason or otherwise from the message; see [RuleOf]. To get the reason that a controller
// with granular reasons would have written, call [Reason] with that position and the name
// of the rule.
//
// Find returns false if the condition names no rule, or a rule that this policy does not
// have. A name takes precedence over a position, and of two rules with the same name the
// first is returned. Policies that are valid by KEP-4443 are unambiguous.
func (s *Spec) Find(reason, message string) (position int, ok bool) {
	ref, ok := RuleOf(reason, message)
	if s == nil || !ok {
		return -1, false
	}
	named := func(r Rule) bool { return r.Name != "" && r.Name == ref.Name }
	if i := slices.IndexFunc(s.Rules, named); i >= 0 {
		return i, true
	}
	if ref.Index < 0 || ref.Index >= len(s.Rules) {
		return -1, false
	}
	return ref.Index, true
}
