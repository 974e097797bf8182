package failurepolicy

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// nameErrors returns the details of the errors for a policy with one rule of a name.
func nameErrors(name string) (details []string) {
	spec := &Spec{Rules: []Rule{{Name: name}}}
	for _, err := range spec.CheckNames(func(int) *field.Path { return field.NewPath("name") }) {
		details = append(details, err.Detail)
	}
	return details
}

// Without a path, an error has the position of the rule.
func TestSpec_positions(t *testing.T) {
	spec := Spec{Rules: []Rule{{}, {Name: "a b", OnStatus: &StatusRequirement{}}}}
	_, errs := spec.Prepare(nil)
	if errs = append(errs, spec.CheckNames(nil)...); len(errs) != 2 || errs[0].Field != "[1]" || errs[1].Field != "[1]" {
		t.Errorf("got %v, want two errors at [1]", errs)
	}
}

func TestSpec_CheckNames_syntax(t *testing.T) {
	const syntax = "must make a valid reason"
	longest := strings.Repeat("a", 128-len("PodFailurePolicy_"))
	for name, want := range map[string][]string{
		"":              nil,
		"ExitCode2":     nil,
		"notCamelCase":  nil,
		"a_b":           nil,
		"0":             nil,
		longest:         nil,
		longest + "a":   {"must be no more than 111 bytes"},
		"a-b":           {syntax},
		"a b":           {syntax},
		"a\n":           {syntax},
		"a:":            {syntax},
		longest + "aa:": {syntax, "must be no more than 111 bytes"},
	} {
		got := nameErrors(name)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q: got %q, want %q", name, got, want)
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
		if got := nameErrors(reason); got != nil {
			t.Errorf("%q: got %q, want no error", reason, got)
		}
	}
}

// "Validate pod failure policy rule names do not have integer values of any of the existing
// indexes (unless the value is the rule's own index)." The tests of the package validation
// have more cases.
func TestSpec_CheckNames_index(t *testing.T) {
	path := func(rule int) *field.Path { return field.NewPath("rules").Index(rule) }
	for name, want := range map[string]bool{"0": true, "1": false, "2": true, "3": false} {
		spec := &Spec{Rules: []Rule{{}, {Name: name}, {}}}
		if errs := spec.CheckNames(path); (len(errs) > 0) != want {
			t.Errorf("a rule at index 1 with the name %s: got %v, want an error: %t", name, errs, want)
		}
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
		if got := nameIn(c.rule); got != c.want {
			t.Errorf("%s: got the name %q, want %q", c.reason, got, c.want)
		}
	}
}
