package failurepolicy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Option changes how [Compile] reads a Spec.
type Option func(*options)

type options struct {
	withoutFailIndex bool
}

// WithoutFailIndex switches per-index backoff off: rules with the action
// FailIndex are passed over, and a later rule may match (KEP-3850, Rollback).
func WithoutFailIndex() Option {
	return func(o *options) { o.withoutFailIndex = true }
}

// Compile makes a Spec ready to judge pods. A nil Spec gives a nil Policy.
func Compile(s *Spec, opts ...Option) *Policy {
	return new(Arena).Compile(s, opts...)
}

// Arena is memory for one [Policy]: the next that is compiled there overwrites the
// one before. Once it is large enough nothing is allocated. The zero Arena is
// ready for use.
type Arena struct {
	options  options
	policy   Policy
	values   []int32
	patterns []batchv1.PodFailurePolicyOnPodConditionsPattern
}

// Compile is the function of that name.
func (a *Arena) Compile(s *Spec, opts ...Option) *Policy {
	if s == nil {
		return nil
	}
	a.reset(len(s.Rules), opts)
	for i := range s.Rules {
		a.add(i, &s.Rules[i])
	}
	return &a.policy
}

// CompileAPI compiles what [FromAPI] returns for the same policy and names.
func (a *Arena) CompileAPI(p *batchv1.PodFailurePolicy, names []string, opts ...Option) *Policy {
	if p == nil {
		return nil
	}
	a.reset(len(p.Rules), opts)
	for i := range p.Rules {
		r := ruleOf(p, names, i)
		a.add(i, &r)
	}
	return &a.policy
}

func (a *Arena) reset(size int, opts []Option) {
	a.options = options{}
	for _, opt := range opts {
		if opt != nil {
			opt(&a.options)
		}
	}
	clear(a.policy.rules) // their matchers hold on to what they like
	a.policy = Policy{rules: a.policy.rules[:0], size: size}
	a.values, a.patterns = a.values[:0], a.patterns[:0]
}

// add takes a rule up if it can decide.
func (a *Arena) add(position int, r *Rule) {
	if !a.decides(r.Action) {
		return
	}
	c := rule{position: position, name: r.Name, action: r.Action}
	switch {
	case r.OnExitCodes != nil:
		var known bool
		if c.codes, known = a.codes(r.OnExitCodes); known {
			c.kind = ByExitCode
		}
	case len(r.OnPodConditions) > 0:
		c.kind, c.patterns = ByPodCondition, a.conditions(r.OnPodConditions)
	case r.Matcher != nil:
		c.kind, c.matcher = ByMatcher, r.Matcher
	}
	if c.kind != NoMatch { // otherwise no requirement could be met
		a.policy.rules = append(a.policy.rules, c)
	}
}

// decides reports whether a rule with this action ends the search. API: "Clients
// should react to an unknown action by skipping the rule."
func (a *Arena) decides(action batchv1.PodFailurePolicyAction) bool {
	switch action {
	case batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionIgnore,
		batchv1.PodFailurePolicyActionCount:
		return true
	case batchv1.PodFailurePolicyActionFailIndex:
		return !a.options.withoutFailIndex
	}
	return false
}

// codes reports whether the operator is known. API: "Clients should react to an
// unknown operator by assuming the requirement is not satisfied."
func (a *Arena) codes(r *batchv1.PodFailurePolicyOnExitCodesRequirement) (c codes, known bool) {
	start := len(a.values)
	a.values = append(a.values, r.Values...)
	c.values = slices.Clip(a.values[start:])
	slices.Sort(c.values)
	if c.anywhere = r.ContainerName == nil; !c.anywhere {
		c.container = *r.ContainerName
	}
	c.in = r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn
	return c, c.in || r.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn
}

// conditions fills the patterns in as the API server does.
func (a *Arena) conditions(given []batchv1.PodFailurePolicyOnPodConditionsPattern) []batchv1.PodFailurePolicyOnPodConditionsPattern {
	start := len(a.patterns)
	a.patterns = append(a.patterns, given...)
	patterns := slices.Clip(a.patterns[start:])
	for i := range patterns {
		if patterns[i].Status == "" {
			patterns[i].Status = corev1.ConditionTrue
		}
	}
	return patterns
}
