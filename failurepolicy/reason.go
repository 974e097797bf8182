package failurepolicy

import (
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// prefix comes before the name or the position of a rule in a granular reason.
const prefix = batchv1.JobReasonPodFailurePolicy + "_"

// Reason returns the granular reason for a rule: PodFailurePolicy_{name}, or
// PodFailurePolicy_{position} for a rule without a name (KEP-4443).
func Reason(rule int, name string) string {
	if name == "" {
		name = strconv.Itoa(rule)
	}
	return prefix + name
}

// RefKind is how a reason refers to a rule.
type RefKind uint8

const (
	// RefPlain is the reason without granularity: some rule, it does not say which.
	RefPlain RefKind = iota
	// RefIndex is a position. It may be a name all the same, for a rule may be
	// named after its own position.
	RefIndex
	// RefName is a name.
	RefName
)

// Ref is the reference to a rule that a condition's reason holds.
type Ref struct {
	Kind RefKind
	// Index is the position with RefIndex, and otherwise -1.
	Index int
	// Name is what follows the prefix; empty with RefPlain.
	Name string
}

// RuleOf reads the reason of a condition. It reports false for a reason that
// does not come from a pod failure policy.
func RuleOf(reason string) (Ref, bool) {
	if reason == batchv1.JobReasonPodFailurePolicy {
		return Ref{Kind: RefPlain, Index: -1}, true
	}
	name, ok := strings.CutPrefix(reason, prefix)
	if !ok || name == "" {
		return Ref{}, false
	}
	if n, ok := readPosition(name); ok {
		return Ref{Kind: RefIndex, Index: n, Name: name}, true
	}
	return Ref{Kind: RefName, Index: -1, Name: name}, true
}

// ofRule is how the message of the Job controller ends, but for the position.
const ofRule = " matching " + string(batchv1.PodFailurePolicyActionFailJob) + " rule at index "

// RuleOfMessage reads the message of a condition, which ends with the position of the
// rule: "... matching FailJob rule at index 1". The built-in Job controller writes it as
// [Match.Message] does, so the rule is known also where reasons are not granular.
func RuleOfMessage(message string) (position int, ok bool) {
	at := strings.LastIndex(message, ofRule)
	if at < 0 {
		return -1, false
	}
	return readPosition(message[at+len(ofRule):])
}

// FindCondition returns the position of the rule that a condition of a Job names: by
// its reason where that is granular, and else by its message. The [Reason] of that
// position and the name of the rule is what a controller with granular reasons would
// have written.
func (s *Spec) FindCondition(c *batchv1.JobCondition) (position int, ok bool) {
	if s == nil || c == nil {
		return -1, false
	}
	if c.Reason != batchv1.JobReasonPodFailurePolicy {
		return s.Find(c.Reason)
	}
	if position, ok = RuleOfMessage(c.Message); !ok || position >= len(s.Rules) {
		return -1, false
	}
	return position, true
}

// readPosition reads a position as it is written: no sign, no leading zeros.
func readPosition(text string) (position int, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || strconv.Itoa(n) != text {
		return -1, false
	}
	return n, true
}

// Find returns the position of the rule that the reason of a condition names. It
// reports false when the reason names none, or none of this policy. Names go
// before positions, and the first of two rules with one name is taken; a policy
// that is valid by KEP-4443 leaves nothing to choose.
func (s *Spec) Find(reason string) (position int, ok bool) {
	ref, ok := RuleOf(reason)
	if s == nil || !ok || ref.Kind == RefPlain {
		return -1, false
	}
	for i := range s.Rules {
		if s.Rules[i].Name == ref.Name {
			return i, true
		}
	}
	if ref.Kind == RefIndex && ref.Index < len(s.Rules) {
		return ref.Index, true
	}
	return -1, false
}
