package failurepolicy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Compile prepares a Spec for matching pods. A nil Spec gives a nil Policy.
func Compile(s *Spec) *Policy {
	if s == nil {
		return nil
	}
	p := &Policy{rules: make([]rule, 0, len(s.Rules))}
	for i := range s.Rules {
		if c := compile(i, &s.Rules[i]); c.kind != NoMatch {
			p.rules = append(p.rules, c)
		}
	}
	return p
}

// compile compiles a rule. A rule that can never decide gets the kind NoMatch.
func compile(position int, r *Rule) rule {
	c := rule{position: position, name: r.Name, action: r.Action}
	switch {
	case !decides(r.Action):
	case r.OnExitCodes != nil:
		var known bool
		if c.codes, known = codesOf(r.OnExitCodes); known {
			c.kind = ByExitCode
		}
	case len(r.OnPodConditions) > 0:
		c.kind, c.patterns = ByPodCondition, withDefaults(r.OnPodConditions)
	case r.Matcher != nil:
		c.kind, c.matcher = ByMatcher, r.Matcher
	}
	return c
}

// decides reports whether a rule with this action can decide. API: "Clients should react to
// an unknown action by skipping the rule."
func decides(action batchv1.PodFailurePolicyAction) bool {
	switch action {
	case batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionIgnore,
		batchv1.PodFailurePolicyActionCount:
		return true
	}
	return false
}

// codesOf compiles a requirement on exit codes, and reports whether the operator is known.
// API: "Clients should react to an unknown operator by assuming the requirement is not
// satisfied."
func codesOf(r *batchv1.PodFailurePolicyOnExitCodesRequirement) (c codes, known bool) {
	c.values = slices.Clone(r.Values)
	slices.Sort(c.values)
	if c.anywhere = r.ContainerName == nil; !c.anywhere {
		c.container = *r.ContainerName
	}
	c.in = r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn
	return c, c.in || r.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn
}

// withDefaults returns the patterns with the defaults of the API server.
func withDefaults(given []batchv1.PodFailurePolicyOnPodConditionsPattern) []batchv1.PodFailurePolicyOnPodConditionsPattern {
	patterns := slices.Clone(given)
	for i := range patterns {
		if patterns[i].Status == "" {
			patterns[i].Status = corev1.ConditionTrue
		}
	}
	return patterns
}
