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
	// Only as Reason writes it: no sign, no leading zeros.
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && strconv.Itoa(n) == name {
		return Ref{Kind: RefIndex, Index: n, Name: name}, true
	}
	return Ref{Kind: RefName, Index: -1, Name: name}, true
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
