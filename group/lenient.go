package group

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Lenient returns a policy that [NewDecider] accepts, and what is wrong with this one, at a path. It is for a policy
// that was stored without [Policy.Check]. The rules keep their positions, and which failures a rule matches does not
// depend on the mistakes of another one:
//
//   - A pattern that cannot be read matches nothing. A rule without another pattern, or whose exit codes cannot be
//     read, matches no failure.
//   - A step with a mistake, or that charges a budget with one, is dropped. If no step is left, the rule fails the
//     group.
//   - What is behind a rule that matches all failures, or a step that is always possible, is dropped.
//   - The second rule of a name loses it.
func (p *Policy) Lenient(path *field.Path) (*Policy, field.ErrorList) {
	errs := p.Check(nil, path)
	if len(errs) == 0 {
		return p, nil
	}
	out, names := &Policy{}, map[string]bool{}
	for i := range p.Budgets {
		b := &p.Budgets[i]
		if b.Name != "" && p.budget(b.Name) == b && len(b.check(nil)) == 0 {
			out.Budgets = append(out.Budgets, *b)
		}
	}
	for i := range p.Rules {
		r := out.readable(&p.Rules[i])
		if names[r.Name] {
			r.Name = ""
		}
		names[r.Name] = true
		out.Rules = append(out.Rules, *r)
		if r.matchesAll() {
			break
		}
	}
	return out, errs
}

// readable returns what can be read of a rule.
func (p *Policy) readable(rule *Rule) *Rule {
	r := rule.DeepCopy()
	r.OnMessagePatterns = slices.DeleteFunc(r.OnMessagePatterns, func(pattern string) bool {
		_, err := regexp.Compile(pattern)
		return err != nil
	})
	if len(r.check(nil)) > 0 || len(rule.OnMessagePatterns) > 0 && len(r.OnMessagePatterns) == 0 {
		r.OnExitCodes, r.OnMessagePatterns = nil, []string{`[^\s\S]`} // matches nothing
	}
	r.Steps = nil
	for i := range rule.Steps {
		step := rule.Steps[i].DeepCopy()
		if len(p.checkStep(step, nil)) > 0 {
			continue
		}
		r.Steps = append(r.Steps, *step)
		if p.alwaysPossible(step) {
			break
		}
	}
	if len(r.Steps) == 0 {
		r.Steps = []Step{{Action: FailGroup}}
	}
	return r
}
