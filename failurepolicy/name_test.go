package failurepolicy

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
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
		got := CheckName(name)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("CheckName(%q) = %q, want %q", name, got, want)
		}
	}
}

// "We will also validate the pod failure policy rule does not conflict with any
// K8s internal reasons used by the Job controller."
func TestCheckName_doesNotConflictWithTheController(t *testing.T) {
	for _, reason := range controllerReasons {
		if strings.HasPrefix(reason, prefix) {
			t.Errorf("%s has the prefix of named rules: say in the comment what it conflicts with", reason)
		}
		// A reason of the controller is a valid name, because the prefix is added to it.
		if got := CheckName(reason); got != nil {
			t.Errorf("CheckName(%q) = %q", reason, got)
		}
	}
	// A later release might set a reason with the prefix.
	got := checkName("Timeout", []string{"PodFailurePolicy_Timeout"})
	if want := []string{"must not make a reason that the Job controller gives: PodFailurePolicy_Timeout"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
