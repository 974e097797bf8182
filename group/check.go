package group

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/backoff"
)

// maxWindowMax bounds the number of times that the state holds for a budget with a window.
const maxWindowMax = 100

// Check returns what is wrong with a policy for a group with these members, at a path; nil for none.
// With members it also finds templates and members of rules that the group does not have, and steps that
// cannot be taken: a member without a name cannot be restarted alone or have a budget of its own, and one
// without a template has no template to restart. With nil the members are not known yet.
func (p *Policy) Check(members []Member, path *field.Path) (errs field.ErrorList) {
	if p == nil {
		return nil
	}
	seen := make(map[string]bool, len(p.Budgets))
	for i := range p.Budgets {
		at := path.Child("budgets").Index(i)
		if name := p.Budgets[i].Name; seen[name] {
			errs = append(errs, field.Duplicate(at.Child("name"), name))
		} else if name == "" {
			errs = append(errs, field.Required(at.Child("name"), "steps charge a budget by its name"))
		}
		seen[p.Budgets[i].Name] = true
		errs = append(errs, p.Budgets[i].check(at)...)
	}
	names, always := map[string]bool{}, false
	for i := range p.Rules {
		at := path.Child("rules").Index(i)
		if always {
			errs = append(errs, field.Invalid(at, p.Rules[i].Name, "is behind a rule that matches all failures"))
		}
		always = always || p.Rules[i].matchesAll()
		if name := p.Rules[i].Name; names[name] && name != "" {
			errs = append(errs, field.Duplicate(at.Child("name"), name))
		}
		names[p.Rules[i].Name] = true
		errs = append(errs, p.Rules[i].check(at)...)
		errs = append(errs, p.checkSteps(&p.Rules[i], members, at.Child("steps"))...)
		if members != nil {
			errs = append(errs, p.Rules[i].checkTargets(members, at)...)
		}
	}
	return errs
}

// CheckMembers returns what is wrong with the members of a group: two of the same name would share
// their restarts. path returns the path to the name of a member; nil is the position of the member.
func CheckMembers(members []Member, path func(member int) *field.Path) (errs field.ErrorList) {
	if path == nil {
		path = (*field.Path)(nil).Index
	}
	seen := make(map[string]bool, len(members))
	for i, m := range members {
		if m.Name != "" && seen[m.Name] {
			errs = append(errs, field.Duplicate(path(i), m.Name))
		}
		seen[m.Name] = true
	}
	return errs
}

func (b *Budget) check(path *field.Path) (errs field.ErrorList) {
	scopes := []Scope{PerGroup, PerMember, PerTemplate}
	if !slices.Contains(scopes, b.scope()) {
		errs = append(errs, field.NotSupported(path.Child("per"), b.Per, scopes))
	}
	if b.Max < 0 {
		errs = append(errs, field.Invalid(path.Child("max"), b.Max, "must be greater than or equal to 0"))
	}
	switch {
	case b.Window == 0 && b.Wait:
		errs = append(errs, field.Invalid(path.Child("wait"), b.Wait,
			"needs a window: without one, a used budget stays used"))
	case b.Window == 0:
	case b.Window < time.Second:
		errs = append(errs, field.Invalid(path.Child("window"), b.Window.String(), "must be at least 1s"))
	case b.Max < 1 || b.Max > maxWindowMax:
		errs = append(errs, field.Invalid(path.Child("max"), b.Max,
			fmt.Sprintf("must be from 1 to %d with a window, because the state has the time of each", maxWindowMax)))
	}
	at := path.Child("renew")
	if b.Renew.WithGroup && b.scope() == PerGroup {
		errs = append(errs, field.Invalid(at.Child("withGroup"), true, "is for budgets of templates and members"))
	}
	if quiet := b.Renew.Quiet; quiet != 0 && quiet < time.Second {
		errs = append(errs, field.Invalid(at.Child("quiet"), quiet.String(), "must be at least 1s"))
	}
	if b.Renew.Progress < 0 {
		errs = append(errs, field.Invalid(at.Child("progress"), b.Renew.Progress, "must not be negative"))
	}
	return errs
}

// matchesAll reports whether a rule has no requirement.
func (r *Rule) matchesAll() bool {
	lists := [...][]string{r.OnReasons, r.OnRuleNames, r.OnClasses, r.OnMessagePatterns, r.Templates, r.Members}
	return r.OnExitCodes == nil && !slices.ContainsFunc(lists[:], func(l []string) bool { return len(l) > 0 })
}

// check checks the requirements of a rule.
func (r *Rule) check(path *field.Path) (errs field.ErrorList) {
	for i, pattern := range r.OnMessagePatterns {
		if _, err := regexp.Compile(pattern); err != nil {
			errs = append(errs, field.Invalid(path.Child("onMessagePatterns").Index(i), pattern, err.Error()))
		}
	}
	if on := r.OnExitCodes; on != nil {
		at := path.Child("onExitCodes")
		operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn,
			batchv1.PodFailurePolicyOnExitCodesOpNotIn}
		if !slices.Contains(operators, on.Operator) {
			errs = append(errs, field.NotSupported(at.Child("operator"), on.Operator, operators))
		}
		if len(on.Values) == 0 {
			errs = append(errs, field.Required(at.Child("values"), "at least one exit code"))
		}
		if i := slices.Index(on.Values, 0); i >= 0 {
			errs = append(errs, field.Invalid(at.Child("values").Index(i), 0, "is not the exit code of a failure"))
		}
	}
	return errs
}

func (p *Policy) checkSteps(r *Rule, members []Member, path *field.Path) (errs field.ErrorList) {
	if len(r.Steps) == 0 {
		errs = append(errs, field.Required(path, "at least one step"))
	}
	always := false
	for i := range r.Steps {
		step, at := &r.Steps[i], path.Index(i)
		if always {
			errs = append(errs, field.Invalid(at, step.Action, "is behind a step that is always possible"))
		}
		always = p.alwaysPossible(step)
		errs = append(errs, p.checkStep(step, at)...)
		scopes := []Scope{effects[step.Action].needs}
		for _, name := range step.Charges {
			if b := p.budget(name); b != nil {
				scopes = append(scopes, b.scope())
			}
		}
		for _, m := range members {
			for _, scope := range scopes {
				if r.targets(m) && !m.has(scope) {
					return append(errs, field.Invalid(at, step.Action, m.lacks(scope)))
				}
			}
		}
	}
	return errs
}

// checkStep checks a step by itself.
func (p *Policy) checkStep(step *Step, path *field.Path) (errs field.ErrorList) {
	effect, known := effects[step.Action]
	if !known {
		errs = append(errs, field.NotSupported(path.Child("action"), step.Action, slices.Sorted(maps.Keys(effects))))
	}
	for i, name := range step.Charges {
		if at := path.Child("charges").Index(i); p.budget(name) == nil {
			errs = append(errs, field.NotFound(at, name))
		} else if slices.Contains(step.Charges[:i], name) {
			errs = append(errs, field.Duplicate(at, name))
		}
	}
	if p.emptiesAll(step) {
		errs = append(errs, field.Invalid(path.Child("charges"), step.Charges,
			fmt.Sprintf("%s empties all these budgets: charge one without withGroup, or none", step.Action)))
	}
	if step.Backoff != nil {
		errs = append(errs, checkBackoff(step.Backoff, effect, path.Child("backoff"))...)
	}
	return errs
}

// alwaysPossible reports whether no budget can refuse a step.
func (p *Policy) alwaysPossible(step *Step) bool {
	return !slices.ContainsFunc(step.Charges, func(name string) bool {
		b := p.budget(name)
		return b == nil || !b.Wait
	})
}

// emptiesAll reports whether a step empties all budgets that it charges: it could be taken again and again. It is
// enough to look at one step, as all restarts of the group empty the same budgets: those that another step would
// empty for it, it empties itself.
func (p *Policy) emptiesAll(step *Step) bool {
	kept := func(name string) bool {
		b := p.budget(name)
		return b == nil || !b.Renew.WithGroup || b.scope() == PerGroup
	}
	return effects[step.Action].counts == PerGroup && len(step.Charges) > 0 && !slices.ContainsFunc(step.Charges, kept)
}

// lacks says why a step is not possible for a member.
func (m Member) lacks(s Scope) string {
	if s == PerMember {
		return fmt.Sprintf("a member of template %q has no name that survives a restart", m.Template)
	}
	return fmt.Sprintf("member %q has no template", m.Name)
}

func checkBackoff(b *backoff.Policy, e effect, path *field.Path) (errs field.ErrorList) {
	if e.counts == "" {
		errs = append(errs, field.Forbidden(path, "only restarts and suspensions are delayed"))
	}
	if b.Base < 0 {
		errs = append(errs, field.Invalid(path.Child("base"), b.Base.String(), "must not be negative"))
	}
	if b.Cap < 0 {
		errs = append(errs, field.Invalid(path.Child("cap"), b.Cap.String(), "must not be negative"))
	}
	if b.Factor != 0 && !(b.Factor >= 1) {
		errs = append(errs, field.Invalid(path.Child("factor"), b.Factor, "must be at least 1, or 0 for the default"))
	}
	return errs
}

// targets reports whether a failure of a member can match the rule.
func (r *Rule) targets(m Member) bool {
	return meets(r.Templates, m.Template) && meets(r.Members, m.Name)
}

// checkTargets finds templates and members that the group does not have.
func (r *Rule) checkTargets(members []Member, path *field.Path) (errs field.ErrorList) {
	for i, name := range r.Templates {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Template == name }) {
			errs = append(errs, field.NotFound(path.Child("templates").Index(i), name))
		}
	}
	for i, name := range r.Members {
		at := path.Child("members").Index(i)
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Name == name }) {
			errs = append(errs, field.NotFound(at, name))
		} else if !slices.ContainsFunc(members, func(m Member) bool { return m.Name == name && r.targets(m) }) {
			errs = append(errs, field.Invalid(at, name, "is not a member of these templates"))
		}
	}
	return errs
}
