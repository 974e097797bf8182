package group

import (
	"regexp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

// Decision is the decision about one failure.
type Decision struct {
	// State is the state after the decision. If Changed, store it before anything else.
	State   State
	Changed bool
	// Action is what to do; empty if no failure is open.
	Action Action
	// Rule is the position of the rule that matched; -1 for none. Step is the position of its step;
	// -1 if none could be taken. If either is -1, the group fails.
	Rule, Step int
	// Failure is the failure that the decision is about.
	Failure Failure
	// NotBefore is when this step lets the Jobs that it restarts be created, or the group be resumed; zero if
	// at once. An earlier restart may be delayed longer: [State.NotBefore] has the latest of all.
	NotBefore time.Time
	// Open is the number of failures that have not been decided yet: call Decide again.
	Open int
}

// Decide decides about the first of the failures that have not been decided yet. It is
// [NewDecider] and [Decider.Decide] in one call. Without failures, it does not read the policy.
func Decide(policy *Policy, state State, failures []Failure, now time.Time) (Decision, error) {
	d := &Decider{}
	if len(failures) > 0 {
		var err error
		d, err = NewDecider(policy)
		if err != nil {
			return Decision{State: state, Rule: -1, Step: -1}, err
		}
	}
	return d.Decide(state, failures, now)
}

// Decider is a policy that is ready to decide. It is immutable.
type Decider struct {
	policy *Policy
	rules  []compiled
}

// compiled is a rule whose patterns are compiled, and whose budgets are found.
type compiled struct {
	*Rule
	patterns []*regexp.Regexp
	charges  [][]*Budget // by step
}

// NewDecider prepares a policy. It refuses what [Policy.Check] refuses without knowing the members.
// The Decider does not refer to the policy.
func NewDecider(policy *Policy) (*Decider, error) {
	if err := policy.Check(nil, nil).ToAggregate(); err != nil {
		return nil, err
	}
	d := &Decider{policy: policy.DeepCopy()}
	if d.policy == nil {
		d.policy = &Policy{}
	}
	for i := range d.policy.Rules {
		r := compiled{Rule: &d.policy.Rules[i]}
		for _, pattern := range r.OnMessagePatterns {
			r.patterns = append(r.patterns, regexp.MustCompile(pattern))
		}
		for _, step := range r.Steps {
			var budgets []*Budget
			for _, name := range step.Charges {
				budgets = append(budgets, d.policy.budget(name))
			}
			r.charges = append(r.charges, budgets)
		}
		d.rules = append(d.rules, r)
	}
	return d, nil
}

func (p *Policy) budget(name string) *Budget {
	i := slices.IndexFunc(p.Budgets, func(b Budget) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Budgets[i]
}

// Decide decides about the first of the failures that have not been decided yet: the first rule
// that matches one of them decides, and of those that it matches, the earliest. While the group is
// suspended or has ended, nothing is decided.
//
// now only bounds the times of the failures: a failure that is later than now, or has no time,
// counts as one of now. The error is an *UnknownVersionError or an *OldStateError; the state is then
// returned as it is.
func (d *Decider) Decide(state State, failures []Failure, now time.Time) (Decision, error) {
	none := Decision{State: state, Rule: -1, Step: -1}
	if state.Version > StateVersion {
		return none, &UnknownVersionError{Version: state.Version}
	}
	for i := range failures {
		f := &failures[i]
		if attempt := state.Attempt(f.Member); f.Attempt > attempt {
			return none, &OldStateError{Member: f.Member, Attempt: f.Attempt, State: attempt}
		}
	}
	rule, f := d.first(&state, failures)
	if f == nil {
		return none, nil
	}
	at := f.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	c := d.choose(&state, rule, f, stored(at))
	next := d.policy.carryOut(state, c, f)
	return Decision{State: next, Changed: true, Action: c.action, Rule: rule, Step: c.step, Failure: *f,
		NotBefore: c.notBefore, Open: next.open(failures)}, nil
}

// isOpen reports whether a failure of an attempt up to the current one has not been decided yet.
func (s *State) isOpen(f *Failure) bool {
	attempt := s.Attempt(f.Member)
	return s.Phase == "" && f.Attempt == attempt && !s.left(f.Member, attempt)
}

func (s *State) open(failures []Failure) (n int) {
	for i := range failures {
		if s.isOpen(&failures[i]) {
			n++
		}
	}
	return n
}

// first returns the failure that decides, and the position of its rule, or -1 if no rule matches
// any open failure. It returns nil if no failure is open.
func (d *Decider) first(state *State, failures []Failure) (rule int, first *Failure) {
	none := len(d.rules)
	rule = none
	for i := range failures {
		f := &failures[i]
		if !state.isOpen(f) {
			continue
		}
		earlier := first == nil || f.compare(first) < 0
		upTo := rule // a rule from here on cannot decide
		if earlier && rule < none {
			upTo++
		}
		if at := d.ruleFor(f, upTo); at < rule || at == rule && earlier {
			rule, first = at, f
		}
	}
	if rule == none {
		rule = -1
	}
	return rule, first
}

// ruleFor returns the position of the first of n rules that matches a failure, or the number of all
// rules if none does.
func (d *Decider) ruleFor(f *Failure, n int) int {
	for i := range n {
		if d.rules[i].matches(f) {
			return i
		}
	}
	return len(d.rules)
}

// matches reports whether a failure meets all requirements. Patterns come last: they are slow.
func (r *compiled) matches(f *Failure) bool {
	return meets(r.Templates, f.Template) && meets(r.Members, f.Name) && meets(r.OnClasses, f.Class) &&
		meets(r.OnRuleNames, f.RuleName) && r.meetsReason(f.Reason) && r.meetsExitCode(f) && r.meetsMessage(f.Message)
}

func (r *compiled) meetsMessage(message string) bool {
	matches := func(p *regexp.Regexp) bool { return p.MatchString(message) }
	return len(r.patterns) == 0 || slices.ContainsFunc(r.patterns, matches)
}

func meets(wanted []string, got string) bool { return len(wanted) == 0 || slices.Contains(wanted, got) }

func (r *compiled) meetsReason(reason string) bool {
	if meets(r.OnReasons, reason) {
		return true
	}
	_, byRule := failurepolicy.RuleOf(reason, "")
	return byRule && slices.Contains(r.OnReasons, batchv1.JobReasonPodFailurePolicy)
}

func (r *compiled) meetsExitCode(f *Failure) bool {
	on := r.OnExitCodes
	if on == nil {
		return true
	}
	if f.ExitCode == 0 || on.ContainerName != nil && *on.ContainerName != f.Container {
		return false
	}
	return slices.Contains(on.Values, f.ExitCode) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn)
}
