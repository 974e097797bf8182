package vectors

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// FailurePolicy is the input of failurePolicy.
type FailurePolicy struct {
	Policy *batchv1.PodFailurePolicy `json:"podFailurePolicy,omitempty"`
	Names  []string                  `json:"ruleNames,omitempty"`
	Pod    *corev1.Pod               `json:"pod"` // a failed pod
}

// Match is the result of failurePolicy.
type Match struct {
	Action batchv1.PodFailurePolicyAction `json:"action,omitempty"` // absent: no rule matches
	// whether the failure counts towards the backoff limits
	Counts  bool   `json:"counts"`
	Message string `json:"message,omitempty"`
	// Only jobfate has Rule, Reason and Explanation.
	Rule        *int   `json:"rule,omitempty"`
	Reason      string `json:"reason,omitempty"` // a granular reason
	Explanation string `json:"explanation,omitempty"`
}

func failurePolicy(in FailurePolicy) Match {
	m := failurepolicy.FromAPI(in.Policy, in.Names...).Match(in.Pod)
	out := Match{Action: m.Action, Counts: m.Counts(), Message: m.Message(), Explanation: m.Explain()}
	if m.Matched() {
		out.Rule, out.Reason = &m.Rule, failurepolicy.Reason(m.Rule, m.Name)
	}
	return out
}

// Condition is the input of failedRule: the condition of a failed Job, and the names of all
// rules.
type Condition struct {
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	Names   []string `json:"ruleNames,omitempty"`
}

// Rule is the result of failedRule.
type Rule struct {
	// Policy says that a pod failure policy gave the reason.
	Policy bool   `json:"policy"`
	Index  *int   `json:"index,omitempty"`
	Name   string `json:"name,omitempty"`
	// Rule is the position of the rule, if the policy has it.
	Rule *int `json:"rule,omitempty"`
}

func failedRule(in Condition) Rule {
	ref, ok := failurepolicy.RuleOf(in.Reason, in.Message)
	if !ok {
		return Rule{}
	}
	out := Rule{Policy: true, Name: ref.Name}
	if ref.Index >= 0 {
		out.Index = &ref.Index
	}
	if at, ok := specOf(in.Names).Find(in.Reason, in.Message); ok {
		out.Rule = &at
	}
	return out
}

// specOf returns a policy of rules with these names, or nil without a list.
func specOf(names []string) *failurepolicy.Spec {
	if names == nil {
		return nil
	}
	spec := &failurepolicy.Spec{Rules: make([]failurepolicy.Rule, len(names))}
	for i, name := range names {
		spec.Rules[i].Name = name
	}
	return spec
}

// Names is the input of ruleNames.
type Names struct {
	Names []string `json:"ruleNames"`
}

// WrongNames is the result of ruleNames.
type WrongNames struct {
	Wrong []WrongName `json:"wrong,omitempty"`
}

// WrongName says why the name of a rule is invalid.
type WrongName struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

func ruleNames(in Names) (out WrongNames) {
	for _, err := range specOf(in.Names).CheckNames(
		func(i int) *field.Path { return field.NewPath("ruleNames").Index(i) }) {
		out.Wrong = append(out.Wrong, WrongName{err.Field, err.ErrorBody()})
	}
	return out
}

// SuccessPolicy is the input of successPolicy.
type SuccessPolicy struct {
	Policy      *batchv1.SuccessPolicy `json:"successPolicy,omitempty"`
	Completions int32                  `json:"completions"`
	Completed   string                 `json:"completedIndexes"`
}

// Met is the result of successPolicy: the first rule that is met.
type Met struct {
	Rule *int `json:"rule,omitempty"`
}

func successPolicy(in SuccessPolicy) Met {
	completed, _ := indexset.Parse(in.Completed)
	rule := lifecycle.NewSuccessPolicy(in.Policy, in.Completions).Match(completed)
	if rule < 0 {
		return Met{}
	}
	return Met{&rule}
}
