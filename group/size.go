package group

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateSize returns the number of bytes of JSON that the state of a group with these members can
// have at most, under a policy that [Policy.Check] accepts. It leaves out members and templates that
// the group no longer has, and entries from an earlier policy.
func StateSize(policy *Policy, members []Member) int {
	if policy == nil {
		policy = &Policy{}
	}
	full := State{Version: StateVersion, Phase: Complete, Templates: map[string]Part{}, Members: map[string]Part{},
		End: &End{Reason: strings.Repeat("R", maxReason), Time: metav1.Time{Time: latest}}}
	for i := range policy.Rules {
		if name := cmp.Or(policy.Rules[i].Name, strconv.Itoa(i)); len(inJSON(name)) > len(inJSON(full.End.Rule)) {
			full.End.Rule = name
		}
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
	return len(inJSON(full))
}

// inJSON returns a value as JSON. All times of a state have a text.
func inJSON(v any) []byte {
	text, _ := json.Marshal(v)
	return text
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
				attempt := int32(math.MaxInt32)
				out.LeftAttempt = &attempt
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
func (b *Budget) full() (out Use) {
	if b.Window <= 0 {
		out.Count = max(b.Max, 0)
	} else {
		out.Times = slices.Repeat([]metav1.Time{{Time: latest}}, min(max(int(b.Max), 0), maxWindowMax))
	}
	if b.Renew.Quiet > 0 {
		out.QuietSince = &metav1.Time{Time: latest}
	}
	if b.Renew.Progress > 0 {
		out.Progress = math.MaxInt64
	}
	return out
}

// isZero reports whether nothing was decided about a part.
func (p Part) isZero() bool {
	return p.Restarts == 0 && p.LeftAttempt == nil && len(p.Used) == 0
}
