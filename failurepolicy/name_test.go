package failurepolicy

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// KEP-4443, Validation. Without a path, an error has the position of the rule.
func TestCheckNames(t *testing.T) {
	const (
		unique   = "Validate all pod failure policy rule names are unique."
		integer  = "Validate pod failure policy rule names do not have integer values of any of the existing indexes (unless the value is the rule’s own index)."
		reason   = "will be a valid reason (CamelCase, max length of 128 characters, and matches the regex defined here)"
		unset    = "When Name is unset, the Job controller will set the reason suffix to the index of the rule in the podFailurePolicy.rules slice"
		notIndex = ": Invalid value: must not be the index of another rule"
	)
	syntax := func(rule, reason string) string {
		return "[" + rule + "]: Invalid value: must make a valid reason of a condition: '" + reason +
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
		{sentence: unique, names: []string{"A", "A", "", "A"}, want: []string{"[1]: Duplicate value", "[3]: Duplicate value"}},
		{sentence: integer, names: []string{"0", "1"}},
		{sentence: integer, names: []string{"", "0"}, want: []string{"[1]" + notIndex}},
		{sentence: integer, names: []string{"1", "B"}, want: []string{"[0]" + notIndex}},
		{sentence: integer, names: []string{"2", "B"}}, // no rule has that index
		{sentence: integer, names: []string{"", "00"}, want: []string{"[1]" + notIndex}},
		{sentence: integer, names: []string{"00", "B"}},
		{sentence: integer, names: []string{"99999999999999999999"}},
		{sentence: reason, names: []string{longest, "a_b", "a:b", "a,b", "_"}},
		{sentence: reason, names: []string{longest + "a"}, want: []string{"[0]: Invalid value: must be no more than 111 bytes"}},
		{sentence: reason, names: []string{"a-b"}, want: []string{syntax("0", "PodFailurePolicy_a-b")}},
		{sentence: reason, names: []string{"a:"}, want: []string{syntax("0", "PodFailurePolicy_a:")}},
		{sentence: reason, names: []string{"a\n"}, want: []string{syntax("0", "PodFailurePolicy_a\n")}},
		{sentence: reason, names: []string{"-1", "+0"}, want: []string{
			syntax("0", "PodFailurePolicy_-1"), "[1]" + notIndex, syntax("1", "PodFailurePolicy_+0"),
		}},
	} {
		t.Run(strings.Join(c.names, " "), func(t *testing.T) {
			got := Each(specOf(c.names...).CheckNames(nil), func(err *field.Error) string {
				return strings.TrimSuffix(err.Field+": "+err.Type.String()+": "+err.Detail, ": ")
			})
			Same(t, c.sentence, got, c.want)
		})
	}
}

// specOf returns a policy with rules of these names.
func specOf(names ...string) *Spec {
	spec := &Spec{}
	for _, name := range names {
		spec.Rules = append(spec.Rules, Rule{Name: name})
	}
	return spec
}

// TestCheckNames has the cases.
func TestRuleNames(t *testing.T) {
	for _, tc := range []struct {
		spec *Spec
		path *field.Path
		want []string
	}{
		{spec: nil, path: field.NewPath("policy")},
		{specOf("A", "A"), field.NewPath("policy"), []string{"policy.rules[1].name"}},
		{specOf("A", "A"), nil, []string{"rules[1].name"}},
	} {
		Same(t, fmt.Sprintf("%+v", tc.spec), Fields(RuleNames(tc.spec, tc.path)), tc.want)
	}
}

// The pod failure policy is immutable, and KEP-4443 makes the names part of it.
func TestRuleNamesUpdate(t *testing.T) {
	const first, second, third = "policy.rules[0].name", "policy.rules[1].name", "policy.rules[2].name"
	for name, tc := range map[string]struct {
		now, was *Spec
		want     []string
	}{
		"unchanged":                  {specOf("A", "", "C"), specOf("A", "", "C"), nil},
		"renamed, named and unnamed": {specOf("B", "X", ""), specOf("A", "", "C"), []string{first, second, third}},
		"swapped":                    {specOf("B", "A"), specOf("A", "B"), []string{first, second}},
		"rules added or removed are reported by the API server": {specOf("A", "B"), specOf("A"), nil},
		"no policy before": {specOf("A"), nil, nil},
		"policy removed":   {nil, specOf("A"), nil},
	} {
		errs := RuleNamesUpdate(tc.now, tc.was, field.NewPath("policy"))
		Same(t, name, Fields(errs), tc.want)
		for _, err := range errs {
			Same(t, name+": the error", string(err.Type)+err.Detail, string(field.ErrorTypeInvalid)+"field is immutable")
		}
	}
}

// The reasons that the Job controller of 1.37 sets in the conditions of a Job.
var controllerReasons = []string{
	batchv1.JobReasonPodFailurePolicy,
	batchv1.JobReasonBackoffLimitExceeded,
	batchv1.JobReasonDeadlineExceeded,
	batchv1.JobReasonMaxFailedIndexesExceeded,
	batchv1.JobReasonFailedIndexes,
	batchv1.JobReasonSuccessPolicy,
	batchv1.JobReasonCompletionsReached,
	"JobSuspended",
	"JobResumed",
}

// "We will also validate the pod failure policy rule does not conflict with any
// K8s internal reasons used by the Job controller."
func TestSpec_CheckNames_doNotConflictWithTheController(t *testing.T) {
	for _, reason := range controllerReasons {
		if strings.HasPrefix(reason, prefix) {
			t.Errorf("%s has the prefix of named rules: CheckNames must reject the name that makes it", reason)
		}
		// A reason of the controller is a valid name, because the prefix is added to it.
		Same(t, fmt.Sprintf("%q", reason), (&Spec{Rules: []Rule{{Name: reason}}}).CheckNames(nil), nil)
	}
}

// KEP-4443: "Add an optional `name` field to `PodFailurePolicyRule`". The KEP has a string; many optional fields of the
// API are pointers.
func TestNameIn(t *testing.T) {
	name := "Broken"
	for _, c := range []struct {
		reason string
		rule   any
		want   string
	}{
		{"no such field", &struct{ Action string }{"FailJob"}, ""},
		{"a name", &struct{ Action, Name string }{"FailJob", name}, name},
		{"the field is not set", &struct{ Name string }{}, ""},
		{"a pointer", &struct{ Name *string }{&name}, name},
		{"the pointer is nil", &struct{ Name *string }{}, ""},
		{"no text", &struct{ Name int }{1}, ""},
	} {
		Same(t, c.reason+": the name", nameIn(c.rule), c.want)
	}
}
