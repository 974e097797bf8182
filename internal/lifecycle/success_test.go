package lifecycle_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestSuccessPolicy(t *testing.T) {
	rule := func(indexes string, count int32) batchv1.SuccessPolicyRule {
		var r batchv1.SuccessPolicyRule
		if indexes != "-" {
			r.SucceededIndexes = &indexes
		}
		if count >= 0 {
			r.SucceededCount = &count
		}
		return r
	}
	for _, tc := range []struct {
		reason    string
		rules     []batchv1.SuccessPolicyRule
		completed string
		want      int
	}{
		{"no rule", nil, "0", -1},
		{"all named indexes", []batchv1.SuccessPolicyRule{rule("0,2", -1)}, "0-2", 0},
		{"not all of them", []batchv1.SuccessPolicyRule{rule("0,2", -1)}, "0,1", -1},
		{"enough of them", []batchv1.SuccessPolicyRule{rule("0-3", 2)}, "0,3", 0},
		{"not enough of them", []batchv1.SuccessPolicyRule{rule("0-3", 2)}, "0,4-9", -1},
		{"all of them, with a higher count", []batchv1.SuccessPolicyRule{rule("0,1", 5)}, "0,1", 0},
		{"any indexes", []batchv1.SuccessPolicyRule{rule("-", 3)}, "0,5,9", 0},
		{"not enough", []batchv1.SuccessPolicyRule{rule("-", 3)}, "0,5", -1},
		{"more than there are", []batchv1.SuccessPolicyRule{rule("-", 11)}, "0-9", -1},
		{"the first that matches", []batchv1.SuccessPolicyRule{rule("9", -1), rule("-", 1), rule("0", -1)}, "0", 1},
		{"a rule without indexes and count is skipped", []batchv1.SuccessPolicyRule{rule("-", -1), rule("0", -1)}, "0", 1},
		{"a count of zero", []batchv1.SuccessPolicyRule{rule("5", 0)}, "0", 0},
		{"a count of zero, nothing completed", []batchv1.SuccessPolicyRule{rule("-", 0), rule("0", 0)}, "", -1},
		{"no index below completions", []batchv1.SuccessPolicyRule{rule("10-20", 0), rule("", 0), rule("x", 0)}, "0", -1},
		{"indexes beyond completions are not required", []batchv1.SuccessPolicyRule{rule("9-20", -1)}, "9", 0},
	} {
		p := lifecycle.NewSuccessPolicy(&batchv1.SuccessPolicy{Rules: tc.rules}, 10)
		Same(t, tc.reason+": Match", p.Match(indexset.MustParse(tc.completed)), tc.want)
	}
	if p := lifecycle.NewSuccessPolicy(nil, 10); p != nil || p.Match(indexset.Of(1)) != -1 {
		t.Errorf("without a policy: %v, Match = %d, want nil and -1", p, p.Match(indexset.Of(1)))
	}
}

// A later change of the spec does not change the parsed policy.
func TestSuccessPolicy_sharesNothing(t *testing.T) {
	spec := &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0"), SucceededCount: new(int32(1))}}}
	p := lifecycle.NewSuccessPolicy(spec, 3)
	*spec.Rules[0].SucceededIndexes, *spec.Rules[0].SucceededCount = "1", 3
	Same(t, "Match", p.Match(indexset.Of(0)), 0)
}

// slowRule is a rule of the oracle.
type slowRule struct {
	named map[int]bool // nil for any
	count *int32
}

// slowMatch follows the API's description of success policy rules (KEP-3998).
func slowMatch(rules []slowRule, completed map[int]bool, completions int) int {
	if len(completed) == 0 {
		return -1
	}
	for position, rule := range rules {
		named, done := 0, 0
		for i := range completions {
			if rule.named == nil || rule.named[i] {
				named++
				if completed[i] {
					done++
				}
			}
		}
		enough := rule.count != nil && done >= int(*rule.count)
		all := rule.named != nil && done == named
		if named > 0 && (enough || all) {
			return position
		}
	}
	return -1
}

func drawPolicy(t *rapid.T) (*batchv1.SuccessPolicy, []slowRule) {
	p := &batchv1.SuccessPolicy{}
	var slow []slowRule
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		var rule batchv1.SuccessPolicyRule
		var s slowRule
		if rapid.Bool().Draw(t, "names indexes") {
			m, set := DrawIndexes(t, "named")
			rule.SucceededIndexes, s.named = new(set.String()), m
		}
		if rapid.Bool().Draw(t, "has a count") {
			rule.SucceededCount = new(rapid.Int32Range(0, 9).Draw(t, "count"))
			s.count = rule.SucceededCount
		}
		p.Rules, slow = append(p.Rules, rule), append(slow, s)
	}
	return p, slow
}

func TestRandom_successPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec, slow := drawPolicy(t)
		completions := rapid.IntRange(0, 9).Draw(t, "completions")
		completed, set := DrawIndexes(t, "completed")
		for i := completions; i < 8; i++ {
			delete(completed, i)
		}
		set = set.Clip(int32(completions))
		want := slowMatch(slow, completed, completions)
		Same(t, "Match", lifecycle.NewSuccessPolicy(spec, int32(completions)).Match(set), want)
	})
}
