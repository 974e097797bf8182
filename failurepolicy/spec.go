package failurepolicy

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Matcher is a custom requirement. It reports whether a failed pod meets it. The optional
// detail is a text for people, which completes the sentence "the pod failed with ...". A
// Matcher must depend on the pod alone and must not change it.
type Matcher func(pod *corev1.Pod) (detail string, ok bool)

// Spec is a pod failure policy whose rules may have names. Its YAML and JSON are those of
// podFailurePolicy in a Job, with an additional name for each rule (KEP-4443). A nil Spec
// matches nothing.
type Spec struct {
	// Rules are tried in order.
	Rules []Rule `json:"rules"`
}

// Rule defines what happens when a pod failure meets its requirement.
type Rule struct {
	// Name is part of the reason of the Job's condition if reasons are granular. If it is
	// empty, the reason has the position of the rule instead.
	// +kubebuilder:validation:MaxLength=111
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_,:]*[A-Za-z0-9_]$`
	Name string `json:"name,omitempty"`
	// Action is taken when the requirement is met.
	Action batchv1.PodFailurePolicyAction `json:"action"`
	// OnExitCodes is the requirement on the exit codes of containers.
	OnExitCodes *batchv1.PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty"`
	// OnPodConditions is the requirement on the conditions of the pod. It is ignored if
	// OnExitCodes is set. A pattern without a status means the status True, which is the
	// default of the API server.
	OnPodConditions []batchv1.PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty"`
	// Matcher is a requirement that the Kubernetes API cannot express. It is ignored if
	// OnExitCodes or OnPodConditions is set.
	Matcher Matcher `json:"-"`
}

// FromAPI returns the policy of a Job with the given names: names[i] is the name of rule
// i. Rules beyond the list have no name, and surplus names are ignored. A name in p, which needs
// a release of k8s.io/api with KEP-4443, comes before that in names. A nil policy gives a nil Spec.
// The result shares nothing with p.
func FromAPI(p *batchv1.PodFailurePolicy, names ...string) *Spec {
	if p == nil {
		return nil
	}
	s := &Spec{}
	if p.Rules != nil {
		s.Rules = make([]Rule, len(p.Rules))
	}
	for i, r := range p.Rules {
		given := ""
		if i < len(names) {
			given = names[i]
		}
		s.Rules[i] = Rule{Name: cmp.Or(nameIn(&p.Rules[i]), given), Action: r.Action,
			OnExitCodes: r.OnExitCodes.DeepCopy(), OnPodConditions: slices.Clone(r.OnPodConditions)}
	}
	return s
}

// DeepCopyInto copies the policy. Matchers are functions, which both then share.
func (s *Spec) DeepCopyInto(out *Spec) {
	*out = Spec{Rules: slices.Clone(s.Rules)}
	for i, r := range out.Rules {
		out.Rules[i].OnExitCodes = r.OnExitCodes.DeepCopy()
		out.Rules[i].OnPodConditions = slices.Clone(r.OnPodConditions)
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

// ToAPI returns the policy in the form of the Kubernetes API, without the names. A nil
// Spec gives a nil policy. The result shares nothing with s.
//
// A rule with only a Matcher keeps its place, so that the positions of other rules do not
// change. It has no requirement and matches nothing. The API server rejects such a rule,
// so the loss is noticed.
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
