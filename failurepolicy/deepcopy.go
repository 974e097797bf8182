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
func (s *Spec) DeepCopy() *Spec { return copied(s) }

// DeepCopyInto copies the rule.
func (r *Rule) DeepCopyInto(out *Rule) {
	*out = *r
	out.OnExitCodes, out.OnPodConditions = r.OnExitCodes.DeepCopy(), slices.Clone(r.OnPodConditions)
	out.OnStatus = r.OnStatus.DeepCopy()
}

// DeepCopy returns a copy of the rule.
func (r *Rule) DeepCopy() *Rule { return copied(r) }

// DeepCopyInto copies the requirement.
func (r *StatusRequirement) DeepCopyInto(out *StatusRequirement) {
	*out = StatusRequirement{Reasons: slices.Clone(r.Reasons), MessagePatterns: slices.Clone(r.MessagePatterns)}
}

// DeepCopy returns a copy of the requirement.
func (r *StatusRequirement) DeepCopy() *StatusRequirement { return copied(r) }

func copied[T any, P interface {
	*T
	DeepCopyInto(P)
}](p P) P {
	if p == nil {
		return nil
	}
	out := P(new(T))
	p.DeepCopyInto(out)
	return out
}
