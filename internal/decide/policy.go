package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

// readPolicy returns the pod failure policy in force: the caller's, or the Job's with the
// caller's names; nil if there is none.
func readPolicy(spec *batchv1.JobSpec, c *Config) *failurepolicy.Spec {
	policy := c.FailurePolicy
	switch {
	case c.WithoutPolicy:
		return nil
	case policy == nil && spec.PodFailurePolicy != nil:
		policy = named(spec.PodFailurePolicy, c.RuleNames)
	}
	if policy != nil && c.WithoutPerIndex {
		policy = withoutFailIndex(policy)
	}
	return policy
}

// named is failurepolicy.FromAPI without the deep copy, because every decision reads the
// policy.
func named(policy *batchv1.PodFailurePolicy, names []string) *failurepolicy.Spec {
	s := &failurepolicy.Spec{Rules: make([]failurepolicy.Rule, len(policy.Rules))}
	for i, r := range policy.Rules {
		s.Rules[i] = failurepolicy.Rule{Action: r.Action, OnExitCodes: r.OnExitCodes, OnPodConditions: r.OnPodConditions}
		if i < len(names) {
			s.Rules[i].Name = names[i]
		}
	}
	return s
}

// withoutFailIndex clears the action of FailIndex rules, so that they never match and a
// later rule may match (KEP-3850, Rollback). All rules keep their positions.
func withoutFailIndex(policy *failurepolicy.Spec) *failurepolicy.Spec {
	rules := slices.Clone(policy.Rules)
	for i := range rules {
		if rules[i].Action == batchv1.PodFailurePolicyActionFailIndex {
			rules[i].Action = ""
		}
	}
	return &failurepolicy.Spec{Rules: rules}
}
