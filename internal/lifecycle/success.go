package lifecycle

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// SuccessPolicy is a Job's success policy (KEP-3998), read once. Nil is no
// policy.
type SuccessPolicy struct {
	Rules []SuccessRule // those that can be satisfied
}

// SuccessRule is a rule of a success policy.
type SuccessRule struct {
	Position int
	Named    indexset.Set // the indexes that count
	Need     int          // how many of them must be completed
}

// NewSuccessPolicy returns the policy of an Indexed Job with the given number
// of completions; nil when it has none.
func NewSuccessPolicy(p *batchv1.SuccessPolicy, completions int32) *SuccessPolicy {
	if p == nil {
		return nil
	}
	s := &SuccessPolicy{}
	for i := range p.Rules {
		rule := &p.Rules[i]
		if rule.SucceededIndexes == nil && rule.SucceededCount == nil {
			continue
		}
		read := readSuccessRule(rule, completions)
		if read.Position = i; !read.Named.IsEmpty() {
			s.Rules = append(s.Rules, read)
		}
	}
	return s
}

// readSuccessRule reads a rule that names indexes, a count or both. With both,
// the count is enough, and so are all the indexes.
func readSuccessRule(rule *batchv1.SuccessPolicyRule, completions int32) SuccessRule {
	if rule.SucceededIndexes == nil {
		return SuccessRule{Named: indexset.Set{}.Complement(completions), Need: int(*rule.SucceededCount)}
	}
	named, _ := indexset.ParseDamaged(*rule.SucceededIndexes, completions)
	need := named.Len()
	if rule.SucceededCount != nil {
		need = min(need, int(*rule.SucceededCount))
	}
	return SuccessRule{Named: named, Need: need}
}

// Match returns the position of the first rule that the completed indexes
// satisfy, or -1. While no index is completed no rule is satisfied, not even
// one that asks for none. Nor is a rule that names no index that the Job has.
func (p *SuccessPolicy) Match(completed indexset.Set) int {
	if p == nil || completed.IsEmpty() {
		return -1
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.Named.IntersectionLen(completed) >= r.Need {
			return r.Position
		}
	}
	return -1
}

func matchedRule(rule int) string { return fmt.Sprintf("Matched rules at index %d", rule) }
