package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
)

// named returns the policy of an unstructured Job, the only form that has names while the Go types lack them.
func named(names ...string) *failurepolicy.Spec {
	rules := make([]any, len(names))
	for i, name := range names {
		rules[i] = map[string]any{"name": name}
	}
	spec := &failurepolicy.Spec{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"rules": rules}, spec)
	if err != nil {
		panic(err)
	}
	return spec
}

// failurepolicy.TestCheckNames has the cases.
func TestRuleNames(t *testing.T) {
	wantErrors(t, RuleNames(nil, field.NewPath("policy")))
	wantErrors(t, RuleNames(named("A", "A"), field.NewPath("policy")), "policy.rules[1].name: Duplicate value")
	wantErrors(t, RuleNames(named("A", "A"), nil), "rules[1].name: Duplicate value")
}

// The pod failure policy is immutable, and KEP-4443 makes the names part of it.
func TestRuleNamesUpdate(t *testing.T) {
	path := field.NewPath("policy")
	for _, c := range []struct {
		name     string
		now, was *failurepolicy.Spec
		want     []string
	}{
		{"unchanged", named("A", "", "C"), named("A", "", "C"), nil},
		{"renamed, named and unnamed", named("B", "X", ""), named("A", "", "C"), []string{
			"policy.rules[0].name: Invalid value: field is immutable",
			"policy.rules[1].name: Invalid value: field is immutable",
			"policy.rules[2].name: Invalid value: field is immutable",
		}},
		{"swapped", named("B", "A"), named("A", "B"), []string{
			"policy.rules[0].name: Invalid value: field is immutable", "policy.rules[1].name: Invalid value: field is immutable",
		}},
		{"rules added or removed are reported by Update", named("A", "B"), named("A"), nil},
		{"no policy before", named("A"), nil, nil},
		{"policy removed", nil, named("A"), nil},
	} {
		t.Run(c.name, func(t *testing.T) { wantErrors(t, RuleNamesUpdate(c.now, c.was, path), c.want...) })
	}
}
