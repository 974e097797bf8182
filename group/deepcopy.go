package group

import (
	"maps"
	"slices"
)

// DeepCopyInto copies the policy.
func (p *Policy) DeepCopyInto(out *Policy) {
	*out = Policy{Budgets: slices.Clone(p.Budgets), Rules: slices.Clone(p.Rules)}
	for i := range out.Budgets {
		p.Budgets[i].DeepCopyInto(&out.Budgets[i])
	}
	for i := range out.Rules {
		p.Rules[i].DeepCopyInto(&out.Rules[i])
	}
}

// DeepCopy returns a copy of the policy.
func (p *Policy) DeepCopy() *Policy { return copied(p) }

// DeepCopyInto copies the budget.
func (b *Budget) DeepCopyInto(out *Budget) { *out = *b }

// DeepCopy returns a copy of the budget.
func (b *Budget) DeepCopy() *Budget { return copied(b) }

// DeepCopyInto copies the rule.
func (r *Rule) DeepCopyInto(out *Rule) {
	*out = *r
	out.OnReasons, out.OnRuleNames = slices.Clone(r.OnReasons), slices.Clone(r.OnRuleNames)
	out.OnClasses, out.OnMessagePatterns = slices.Clone(r.OnClasses), slices.Clone(r.OnMessagePatterns)
	out.OnExitCodes = r.OnExitCodes.DeepCopy()
	out.Templates, out.Members = slices.Clone(r.Templates), slices.Clone(r.Members)
	out.Steps = slices.Clone(r.Steps)
	for i := range out.Steps {
		r.Steps[i].DeepCopyInto(&out.Steps[i])
	}
}

// DeepCopy returns a copy of the rule.
func (r *Rule) DeepCopy() *Rule { return copied(r) }

// DeepCopyInto copies the step.
func (s *Step) DeepCopyInto(out *Step) {
	*out = Step{Action: s.Action, Charges: slices.Clone(s.Charges), Backoff: clone(s.Backoff)}
}

// DeepCopy returns a copy of the step.
func (s *Step) DeepCopy() *Step { return copied(s) }

// DeepCopyInto copies the state.
func (s *State) DeepCopyInto(out *State) {
	*out = *s
	s.Group.DeepCopyInto(&out.Group)
	out.End = clone(s.End)
	out.Templates, out.Members = copiedParts(s.Templates), copiedParts(s.Members)
}

// DeepCopy returns a copy of the state.
func (s *State) DeepCopy() *State { return copied(s) }

// DeepCopyInto copies the part.
func (p *Part) DeepCopyInto(out *Part) {
	*out = Part{Restarts: p.Restarts, NotBefore: clone(p.NotBefore), LeftAttempt: clone(p.LeftAttempt),
		Used: maps.Clone(p.Used)}
	for name, use := range p.Used {
		out.Used[name] = *use.DeepCopy()
	}
}

// DeepCopy returns a copy of the part.
func (p *Part) DeepCopy() *Part { return copied(p) }

// DeepCopyInto copies the use.
func (u *Use) DeepCopyInto(out *Use) {
	*out = Use{Count: u.Count, Times: slices.Clone(u.Times), QuietSince: clone(u.QuietSince), Progress: u.Progress}
}

// DeepCopy returns a copy of the use.
func (u *Use) DeepCopy() *Use { return copied(u) }

// copied returns a deep copy of a value, or nil.
func copied[T any, P interface {
	*T
	DeepCopyInto(*T)
}](p P) P {
	if p == nil {
		return nil
	}
	out := new(T)
	p.DeepCopyInto(out)
	return out
}

// clone returns a copy of a value without pointers, or nil.
func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	out := *p
	return &out
}

func copiedParts(parts map[string]Part) map[string]Part {
	out := maps.Clone(parts)
	for name, part := range parts {
		out[name] = *part.DeepCopy()
	}
	return out
}
