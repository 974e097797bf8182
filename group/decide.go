package group

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Decision is the decision about one failure.
type Decision struct {
	// State is the state after the decision. If Changed, store it before anything else.
	State   State
	Changed bool
	// Action is what to do; empty if no failure is open.
	Action Action
	// Match is the failure that the decision is about, and its rule. Step is the position of the step of that rule; -1
	// if none could be taken. Without a rule or a step, the group fails.
	Match
	Step int
	// Charged lists the budgets that the step has taken a unit from, and Renewed says which of them were full again,
	// and why.
	Charged []string
	Renewed []Renewed
	// NotBefore is when this step lets the Jobs that it restarts be created, or the group be resumed; zero if
	// at once. An earlier restart may be delayed longer: [State.NotBefore] has the latest of all.
	NotBefore time.Time
	// Open is the number of failures that have not been decided yet: call Decide again.
	Open int32
}

// Match is the rule and the failure that decide.
type Match struct {
	// Rule is the position of the rule; -1 if none matches.
	Rule int
	// Failure is the failure, and Position its place in the list that was passed; -1 if there is none.
	Failure  Failure
	Position int
}

// FirstMatch returns the first rule that matches one of the failures, and the earliest failure that it matches; if no
// rule matches, the earliest of all. It does not read steps. The error says which requirements cannot be read.
func FirstMatch(rules []Rule, failures []Failure) (Match, error) {
	var errs field.ErrorList
	for i := range rules {
		errs = append(errs, rules[i].check(field.NewPath("rules").Index(i))...)
	}
	if err := errs.ToAggregate(); err != nil {
		return noMatch, err
	}
	return (&Decider{rules: compile(rules)}).first(nil, failures), nil
}

var noMatch = Match{Rule: -1, Position: -1}

// Decide decides about the first of the failures that have not been decided yet. It is
// [NewDecider] and [Decider.Decide] in one call. Without failures, it does not read the policy.
func Decide(policy *Policy, state State, failures []Failure, now time.Time) (Decision, error) {
	if len(failures) == 0 {
		return (&Decider{}).Decide(state, nil, now)
	}
	return (&prepared{policy: policy}).decide(state, failures, now)
}

// undecided returns the decision about no failure.
func undecided(s State) Decision { return Decision{State: s, Match: noMatch, Step: -1} }

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

// NewDecider prepares a policy. It refuses what [Policy.Check] refuses without knowing the members; [Policy.Lenient]
// drops that. The Decider does not refer to the policy.
func NewDecider(policy *Policy) (*Decider, error) {
	if err := policy.Check(nil, nil).ToAggregate(); err != nil {
		return nil, err
	}
	d := &Decider{policy: policy.DeepCopy()}
	if d.policy == nil {
		d.policy = &Policy{}
	}
	d.rules = compile(d.policy.Rules)
	for i := range d.rules {
		r := &d.rules[i]
		for _, step := range r.Steps {
			var budgets []*Budget
			for _, name := range step.Charges {
				budgets = append(budgets, d.policy.budget(name))
			}
			r.charges = append(r.charges, budgets)
		}
	}
	return d, nil
}

// compile compiles the patterns of rules.
func compile(rules []Rule) []compiled {
	out := make([]compiled, len(rules))
	for i := range rules {
		out[i].Rule = &rules[i]
		for _, pattern := range rules[i].OnMessagePatterns {
			out[i].patterns = append(out[i].patterns, regexp.MustCompile(pattern))
		}
	}
	return out
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
	none := undecided(state)
	if state.Version > StateVersion {
		return none, &UnknownVersionError{Version: state.Version}
	}
	for i := range failures {
		f := &failures[i]
		if attempt := state.Attempt(f.Member); f.Attempt > attempt {
			return none, &OldStateError{Member: f.Member, Attempt: f.Attempt, State: attempt}
		}
	}
	match := d.first(&state, failures)
	if match.Position < 0 {
		return none, nil
	}
	f, at := match.Failure, match.Failure.At
	if at.IsZero() || at.After(now) {
		at, f.At = now, time.Time{} // a time that is not known ends no quiet time
	}
	c := d.choose(&state, match.Rule, &f, stored(at))
	next := d.policy.carryOut(state, c, &f)
	if phase := effects[c.action].phase; phase.ended() {
		next = next.Finish(phase, f.Reason, at)
		next.End.Rule = d.nameOf(match.Rule)
	}
	return Decision{State: next, Changed: true, Action: c.action, Match: match, Step: c.step, Charged: c.charged(),
		Renewed: state.renewals(c.charges, &f), NotBefore: c.notBefore, Open: next.open(failures)}, nil
}

// nameOf returns the name of a rule, or its position if it has none; empty for no rule.
func (d *Decider) nameOf(rule int) string {
	if rule < 0 {
		return ""
	}
	return cmp.Or(d.rules[rule].Name, strconv.Itoa(rule))
}

// isOpen reports whether a failure of an attempt up to the current one has not been decided yet.
func (s *State) isOpen(f *Failure) bool {
	attempt := s.Attempt(f.Member)
	return s.Phase == "" && f.Attempt == attempt && !s.left(f.Member, attempt)
}

func (s *State) open(failures []Failure) (n int32) {
	for i := range failures {
		if s.isOpen(&failures[i]) {
			n++
		}
	}
	return n
}

// first returns the rule and the failure that decide. Only failures that are open in the state count; with nil all do.
func (d *Decider) first(state *State, failures []Failure) Match {
	none := len(d.rules)
	rule, first := none, -1
	for i := range failures {
		f := &failures[i]
		if state != nil && !state.isOpen(f) {
			continue
		}
		earlier := first < 0 || f.compare(&failures[first]) < 0
		upTo := rule // a rule from here on cannot decide
		if earlier && rule < none {
			upTo++
		}
		if at := d.ruleFor(f, upTo); at < rule || at == rule && earlier {
			rule, first = at, i
		}
	}
	if first < 0 {
		return noMatch
	}
	if rule == none {
		rule = -1
	}
	return Match{Rule: rule, Failure: failures[first], Position: first}
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
	byRule := strings.HasPrefix(reason, batchv1.JobReasonPodFailurePolicy+"_")
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
