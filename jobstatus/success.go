package jobstatus

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// SuccessPolicy is a Job's success policy (KEP-3998). Nil is no policy.
type SuccessPolicy struct {
	rules       []batchv1.SuccessPolicyRule
	completions int32
}

// NewSuccessPolicy returns the policy of an Indexed Job with the given number
// of completions; nil when it has none.
func NewSuccessPolicy(p *batchv1.SuccessPolicy, completions int32) *SuccessPolicy {
	if p == nil {
		return nil
	}
	return &SuccessPolicy{rules: p.Rules, completions: completions}
}

// Match returns the position of the first rule that the completed indexes
// satisfy, or -1. While no index is completed no rule is satisfied, not even
// one that asks for none.
func (p *SuccessPolicy) Match(completed indexset.Set) int {
	if p == nil || completed.IsEmpty() {
		return -1
	}
	for i := range p.rules {
		if p.satisfied(&p.rules[i], completed) {
			return i
		}
	}
	return -1
}

// satisfied reports whether enough of the indexes that the rule names are
// completed: its count of them, or all. A rule that names no index that the Job
// has is never satisfied.
func (p *SuccessPolicy) satisfied(rule *batchv1.SuccessPolicyRule, completed indexset.Set) bool {
	if rule.SucceededIndexes == nil {
		return rule.SucceededCount != nil && completed.Len() >= int(*rule.SucceededCount)
	}
	named, _ := indexset.ParseDamaged(*rule.SucceededIndexes, p.completions)
	if named.IsEmpty() {
		return false
	}
	done := named.IntersectionLen(completed)
	return done == named.Len() || rule.SucceededCount != nil && done >= int(*rule.SucceededCount)
}

func matchedRule(rule int) string { return fmt.Sprintf("Matched rules at index %d", rule) }
