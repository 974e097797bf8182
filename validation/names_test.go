package validation

import (
	"strings"
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

func TestRuleNames(t *testing.T) {
	const (
		unique   = "Validate all pod failure policy rule names are unique."
		integer  = "Validate pod failure policy rule names do not have integer values of any of the existing indexes (unless the value is the rule’s own index)."
		reason   = "will be a valid reason (CamelCase, max length of 128 characters, and matches the regex defined here)"
		unset    = "When Name is unset, the Job controller will set the reason suffix to the index of the rule in the podFailurePolicy.rules slice"
		notIndex = ".name: Invalid value: must not be the index of another rule"
	)
	syntax := func(rule, reason string) string {
		return "policy.rules[" + rule + "].name: Invalid value: must make a valid reason of a condition: '" + reason +
			"' must consist of alphanumeric characters, '_', ',' or ':', and must end with an alphanumeric character or '_'"
	}
	longest := strings.Repeat("a", 128-len("PodFailurePolicy_"))
	for _, c := range []struct {
		sentence string
		names    []string
		want     []string
	}{
		{sentence: unset, names: []string{"", "", ""}},
		{sentence: unique, names: []string{"ExitCode2", "ExitCode3", "exitcode2"}},
		{sentence: unique, names: []string{"A", "A", "", "A"}, want: []string{"policy.rules[1].name: Duplicate value", "policy.rules[3].name: Duplicate value"}},
		{sentence: integer, names: []string{"0", "1"}},
		{sentence: integer, names: []string{"", "0"}, want: []string{"policy.rules[1]" + notIndex}},
		{sentence: integer, names: []string{"1", "B"}, want: []string{"policy.rules[0]" + notIndex}},
		{sentence: integer, names: []string{"2", "B"}}, // no rule has that index
		{sentence: integer, names: []string{"", "00"}, want: []string{"policy.rules[1]" + notIndex}},
		{sentence: integer, names: []string{"00", "B"}},
		{sentence: integer, names: []string{"99999999999999999999"}},
		{sentence: reason, names: []string{longest, "a_b", "a:b", "a,b", "_"}},
		{sentence: reason, names: []string{longest + "a"}, want: []string{"policy.rules[0].name: Invalid value: must be no more than 111 bytes"}},
		{sentence: reason, names: []string{"a-b"}, want: []string{syntax("0", "PodFailurePolicy_a-b")}},
		{sentence: reason, names: []string{"a:"}, want: []string{syntax("0", "PodFailurePolicy_a:")}},
		{sentence: reason, names: []string{"a\n"}, want: []string{syntax("0", "PodFailurePolicy_a\n")}},
		{sentence: reason, names: []string{"-1", "+0"}, want: []string{
			syntax("0", "PodFailurePolicy_-1"), "policy.rules[1]" + notIndex, syntax("1", "PodFailurePolicy_+0"),
		}},
	} {
		t.Run(strings.Join(c.names, " "), func(t *testing.T) {
			wantErrors(t, RuleNames(named(c.names...), field.NewPath("policy")), c.want...)
			if t.Failed() {
				t.Logf("because: %s", c.sentence)
			}
		})
	}
	wantErrors(t, RuleNames(nil, field.NewPath("policy")))
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
