package group

import (
	"maps"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// choice is the step that is taken.
type choice struct {
	step      int // -1 for none
	action    Action
	charges   []*Budget
	from      time.Time // the time of the charges
	notBefore time.Time // zero if there is nothing to wait for
}

// choose returns the first possible step of a rule for a failure at a time. If there is none, the
// group fails.
func (d *Decider) choose(s *State, rule int, f *Failure, at time.Time) choice {
	if rule >= 0 {
		for i := range d.rules[rule].Steps {
			step, charges := &d.rules[rule].Steps[i], d.rules[rule].charges[i]
			if from, possible := s.possible(effects[step.Action], charges, f, at); possible {
				return choice{step: i, action: step.Action, charges: charges, from: from,
					notBefore: s.delayed(step, f, at, from)}
			}
		}
	}
	return choice{step: -1, action: FailGroup}
}

// charged returns the names of the charged budgets.
func (c *choice) charged() (names []string) {
	for _, b := range c.charges {
		names = append(names, b.Name)
	}
	return names
}

// used returns what has been charged to a budget that a member charges.
func (s *State) used(b *Budget, m Member) Use { return s.part(b.scope(), m).Used[b.Name] }

// renewals returns why budgets are full again when a failure charges them.
func (s *State) renewals(charges []*Budget, f *Failure) (list []Renewed) {
	for _, b := range charges {
		if r := b.renewal(s.used(b, f.Member), f); r != (Renewed{}) {
			list = append(list, r)
		}
	}
	return list
}

// possible reports whether a step can be taken, and from which time on: zero if it charges nothing. A member
// without a name cannot be restarted alone, and a restart that cannot be counted is not possible.
func (s *State) possible(e effect, charges []*Budget, f *Failure, at time.Time) (from time.Time, possible bool) {
	if !f.has(e.needs) || e.counts != "" && s.Attempt(f.Member) == math.MaxInt32 {
		return at, false
	}
	for _, b := range charges {
		if !f.has(b.scope()) {
			return at, false
		}
		free, possible := b.available(b.renewed(s.used(b, f.Member), f), at)
		if !possible {
			return at, false
		}
		if free.After(from) {
			from = free
		}
	}
	return stored(from), true
}

// delayed returns when a restart may take effect: after the wait for a window, and after the backoff.
func (s *State) delayed(step *Step, f *Failure, at, from time.Time) time.Time {
	counts := effects[step.Action].counts
	if counts == "" {
		return time.Time{}
	}
	if step.Backoff != nil {
		restarts := s.part(counts, f.Member).restarts() + 1
		if t := at.Add(step.Backoff.Delay(restarts)); t.After(from) {
			from = t
		}
	}
	if !from.After(at) {
		return time.Time{}
	}
	return stored(from)
}

// carryOut returns the state after a choice. The state that it is given does not change.
func (p *Policy) carryOut(s State, c choice, f *Failure) State {
	e, attempt := effects[c.action], s.Attempt(f.Member)
	s.Version = StateVersion
	if e.phase == Suspended {
		s.Phase = Suspended
	}
	for _, scope := range [...]Scope{PerGroup, PerTemplate, PerMember} {
		part, changed := s.part(scope, f.Member), false
		for _, b := range c.charges {
			if b.scope() == scope {
				part.Used, changed = p.charged(part.Used, b, &c, f), true
			}
		}
		if scope == PerMember && c.action == Leave {
			part.LeftAttempt, changed = &attempt, true
		}
		if scope == e.counts {
			part.Restarts, part.NotBefore, changed = part.restarts()+1, nil, true
			if !c.notBefore.IsZero() {
				part.NotBefore = &metav1.Time{Time: c.notBefore}
			}
		}
		if changed {
			s = s.with(scope, f.Member, part)
		}
	}
	if e.counts == PerGroup {
		s.Templates, s.Members = p.renewed(s.Templates, PerTemplate), p.renewed(s.Members, PerMember)
	}
	return s
}

// with returns the state with another part.
func (s State) with(scope Scope, m Member, part Part) State {
	switch scope {
	case PerMember:
		s.Members = withPart(s.Members, m.Name, part)
	case PerTemplate:
		s.Templates = withPart(s.Templates, m.Template, part)
	default:
		s.Group = part
	}
	return s
}

func withPart(parts map[string]Part, name string, part Part) map[string]Part {
	parts = maps.Clone(parts)
	if parts == nil {
		parts = make(map[string]Part, 1)
	}
	parts[name] = part
	return parts
}

// charged returns what has been charged to budgets after one more charge. Budgets that only an
// earlier policy had are dropped, so that the state stays bounded.
func (p *Policy) charged(used map[string]Use, charge *Budget, c *choice, f *Failure) map[string]Use {
	out := map[string]Use{}
	for name, use := range used {
		if b := p.budget(name); b != nil && b.scope() == charge.scope() {
			out[name] = use
		}
	}
	out[charge.Name] = charge.charge(charge.renewed(out[charge.Name], f), c, f.Progress)
	return out
}

// renewed returns the parts after a restart of the group, which empties some budgets. What else renews them is kept.
func (p *Policy) renewed(parts map[string]Part, scope Scope) map[string]Part {
	parts = maps.Clone(parts)
	for name, part := range parts {
		part.Used = maps.Clone(part.Used)
		for budget, use := range part.Used {
			b := p.budget(budget)
			if b == nil || !b.Renew.WithGroup || b.scope() != scope {
				continue
			}
			part.Used[budget] = use.emptied()
			if use.QuietSince == nil && use.Progress == 0 {
				delete(part.Used, budget)
			}
		}
		parts[name] = part
	}
	return parts
}
