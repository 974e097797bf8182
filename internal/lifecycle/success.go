package lifecycle

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
)

// SuccessPolicy is the parsed success policy of a Job (KEP-3998), without the rules that can
// never be satisfied. Nil means no policy.
type SuccessPolicy []SuccessRule

// SuccessRule is a rule of a success policy.
type SuccessRule struct {
	Position int          // in the policy of the Job
	Named    indexset.Set // the indexes that count
	Need     int          // how many of them must be completed
}

// NewSuccessPolicy parses the policy of an Indexed Job with the given number of
// completions. It returns nil if there is none. A rule names indexes, a count or both. With
// both, the rule is satisfied by the count, or by all its indexes if the count is higher.
func NewSuccessPolicy(p *batchv1.SuccessPolicy, completions int32) SuccessPolicy {
	if p == nil {
		return nil
	}
	s := SuccessPolicy{}
	for i, rule := range p.Rules {
		read := SuccessRule{Position: i, Named: indexset.Set{}.Complement(completions), Need: math.MaxInt}
		if rule.SucceededIndexes != nil {
			read.Named, _ = indexset.ParseDamaged(*rule.SucceededIndexes, completions)
			read.Need = read.Named.Len()
		}
		if rule.SucceededCount != nil {
			read.Need = min(read.Need, int(*rule.SucceededCount))
		}
		if asks := rule.SucceededIndexes != nil || rule.SucceededCount != nil; asks && !read.Named.IsEmpty() {
			s = append(s, read)
		}
	}
	return s
}

// Match returns the position of the first rule that the completed indexes satisfy, or -1.
// Without a completed index no rule is satisfied, not even one with a count of 0. A rule
// whose indexes are all beyond completions is never satisfied.
func (p SuccessPolicy) Match(completed indexset.Set) int {
	if completed.IsEmpty() {
		return -1
	}
	for _, r := range p {
		if r.Named.IntersectionLen(completed) >= r.Need {
			return r.Position
		}
	}
	return -1
}
