package lifecycle

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// SuccessPolicy is the parsed success policy of a Job (KEP-3998). Nil means no policy.
type SuccessPolicy struct {
	Rules []SuccessRule // without the rules that can never be satisfied
}

// SuccessRule is a rule of a success policy.
type SuccessRule struct {
	Position int          // in the policy of the Job
	Named    indexset.Set // the indexes that count
	Need     int          // how many of them must be completed
}

// NewSuccessPolicy parses the policy of an Indexed Job with the given number of
// completions. It returns nil if there is none.
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

// readSuccessRule parses a rule that names indexes, a count or both. With both, the rule is
// satisfied by the count, or by all its indexes if the count is higher.
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

// Match returns the position of the first rule that the completed indexes satisfy, or -1.
// Without a completed index no rule is satisfied, not even one with a count of 0. A rule
// whose indexes are all beyond completions is never satisfied.
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
