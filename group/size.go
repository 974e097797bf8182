package group

import (
	"encoding/json"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateSize returns the number of bytes of JSON that the state of a group with these members can
// have at most, under a policy that [Policy.Check] accepts. It leaves out members and templates that
// the group no longer has, and entries from an earlier policy.
func StateSize(policy *Policy, members []Member) int {
	full := State{Version: StateVersion, Phase: Suspended, Templates: map[string]Part{}, Members: map[string]Part{}}
	if policy == nil {
		policy = &Policy{}
	}
	full.Group = policy.largest(PerGroup)
	for _, m := range members {
		if p := policy.largest(PerTemplate); m.Template != "" && !p.isZero() {
			full.Templates[m.Template] = p
		}
		if p := policy.largest(PerMember); m.Name != "" && !p.isZero() {
			full.Members[m.Name] = p
		}
	}
	text, _ := json.Marshal(full) // all times have a text
	return len(text)
}

// largest returns a part with all that the steps of the policy can write.
func (p *Policy) largest(scope Scope) (out Part) {
	for _, rule := range p.Rules {
		for _, step := range rule.Steps {
			if effects[step.Action].counts == scope {
				out.Restarts = math.MaxInt32
				out.NotBefore = &metav1.Time{Time: latest}
			}
			if step.Action == Leave && scope == PerMember {
				attempt := int64(3 * math.MaxInt32)
				out.Left = &attempt
			}
			for _, name := range step.Charges {
				if b := p.budget(name); b != nil && b.scope() == scope {
					if out.Used == nil {
						out.Used = map[string]Use{}
					}
					out.Used[name] = b.full()
				}
			}
		}
	}
	return out
}

// full returns what has been charged to a budget that is used up.
func (b *Budget) full() Use {
	if b.window() <= 0 {
		return Use{Count: max(b.Max, 0)}
	}
	return Use{Times: slices.Repeat([]metav1.Time{{Time: latest}}, min(max(int(b.Max), 0), maxWindowMax))}
}

// isZero reports whether nothing was decided about a part.
func (p Part) isZero() bool {
	return p.Restarts == 0 && p.Left == nil && len(p.Used) == 0
}
