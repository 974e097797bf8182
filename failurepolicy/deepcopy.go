package failurepolicy

import "slices"

// DeepCopyInto copies the policy. Matchers are functions, which both then share.
func (s *Spec) DeepCopyInto(out *Spec) {
	*out = Spec{Rules: slices.Clone(s.Rules)}
	for i := range out.Rules {
		s.Rules[i].DeepCopyInto(&out.Rules[i])
	}
}

// DeepCopy returns a copy of the policy.
func (s *Spec) DeepCopy() *Spec {
	if s == nil {
		return nil
	}
	out := &Spec{}
	s.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies the rule.
func (r *Rule) DeepCopyInto(out *Rule) {
	*out = *r
	out.OnExitCodes, out.OnPodConditions = r.OnExitCodes.DeepCopy(), slices.Clone(r.OnPodConditions)
	out.OnStatus = r.OnStatus.DeepCopy()
}

// DeepCopy returns a copy of the rule.
func (r *Rule) DeepCopy() *Rule {
	if r == nil {
		return nil
	}
	out := &Rule{}
	r.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies the requirement.
func (r *StatusRequirement) DeepCopyInto(out *StatusRequirement) {
	*out = StatusRequirement{Reasons: slices.Clone(r.Reasons), MessagePatterns: slices.Clone(r.MessagePatterns)}
}

// DeepCopy returns a copy of the requirement.
func (r *StatusRequirement) DeepCopy() *StatusRequirement {
	if r == nil {
		return nil
	}
	out := &StatusRequirement{}
	r.DeepCopyInto(out)
	return out
}
