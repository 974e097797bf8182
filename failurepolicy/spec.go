package failurepolicy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Spec is a pod failure policy whose rules may have names. Its YAML and JSON is
// that of podFailurePolicy in a Job, with a name for each rule (KEP-4443).
type Spec struct {
	// Rules are tried in order.
	Rules []Rule `json:"rules"`
}

// Rule says how a pod failure is handled when its requirement is met.
type Rule struct {
	// Name stands in the reason of the Job's condition, where reasons are granular.
	// When empty, the position of the rule does.
	Name string `json:"name,omitempty"`
	// Action is taken when the requirement is met.
	Action batchv1.PodFailurePolicyAction `json:"action"`
	// OnExitCodes is the requirement on the exit codes of containers.
	OnExitCodes *batchv1.PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty"`
	// OnPodConditions is the requirement on the conditions of the pod. It is
	// looked at only without OnExitCodes.
	OnPodConditions []batchv1.PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty"`
	// Matcher is a requirement that the Kubernetes API cannot express. It is
	// looked at only without the other two.
	Matcher Matcher `json:"-"`
}

// FromAPI returns the policy of a Job with the given names: names[i] is the name
// of rule i. Rules without a name in the list have none, and surplus names are
// dropped. A nil policy gives a nil Spec. Nothing is shared with p.
func FromAPI(p *batchv1.PodFailurePolicy, names ...string) *Spec {
	if p == nil {
		return nil
	}
	s := &Spec{}
	if p.Rules != nil {
		s.Rules = make([]Rule, len(p.Rules))
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		s.Rules[i] = Rule{Action: r.Action, OnExitCodes: r.OnExitCodes.DeepCopy(), OnPodConditions: slices.Clone(r.OnPodConditions)}
		if i < len(names) {
			s.Rules[i].Name = names[i]
		}
	}
	return s
}

// ToAPI returns the policy as the Kubernetes API has it, without the names. A nil
// Spec gives a nil policy. Nothing is shared with s.
//
// A rule that has only a Matcher keeps its place, so that the positions of the
// others stay, but loses its requirement and matches nothing. The API server
// refuses such a rule, and so the loss does not go unnoticed.
func (s *Spec) ToAPI() *batchv1.PodFailurePolicy {
	if s == nil {
		return nil
	}
	p := &batchv1.PodFailurePolicy{}
	if s.Rules != nil {
		p.Rules = make([]batchv1.PodFailurePolicyRule, len(s.Rules))
	}
	for i, r := range s.Rules {
		p.Rules[i] = batchv1.PodFailurePolicyRule{
			Action:          r.Action,
			OnExitCodes:     r.OnExitCodes.DeepCopy(),
			OnPodConditions: slices.Clone(r.OnPodConditions),
		}
	}
	return p
}
