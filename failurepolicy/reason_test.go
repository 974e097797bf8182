package failurepolicy_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
)

// KEP-4443, Integration tests: "the JobFailed condition has a reason of
// PodFailurePolicy_{Name}", and "Add test cases for both onPodConditions and
// onExitCodes to ensure the Name or the rule's index (when Name is empty) is
// properly added". With the feature off the reason is plain.
func TestReasonOfTheCondition(t *testing.T) {
	exit, disruption := podThatExited(exited("main", 1)), podOn(condition(corev1.DisruptionTarget, "True"))
	for name, tc := range map[string]struct {
		pod      *corev1.Pod
		name     string
		action   batchv1.PodFailurePolicyAction
		granular bool
		want     string
	}{
		"exit codes, name, on":   {exit, "ConfigError", failJob, true, "PodFailurePolicy_ConfigError"},
		"exit codes, index, on":  {exit, "", failJob, true, "PodFailurePolicy_1"},
		"exit codes, name, off":  {exit, "ConfigError", failJob, false, "PodFailurePolicy"},
		"exit codes, index, off": {exit, "", failJob, false, "PodFailurePolicy"},
		"conditions, name, on":   {disruption, "Disrupted", failJob, true, "PodFailurePolicy_Disrupted"},
		"conditions, index, on":  {disruption, "", failJob, true, "PodFailurePolicy_1"},
		"conditions, name, off":  {disruption, "Disrupted", failJob, false, "PodFailurePolicy"},
		"conditions, index, off": {disruption, "", failJob, false, "PodFailurePolicy"},
		// "When a PodFailurePolicyRule matches a pod failure and the Action is
		// FailJob": no other action gives a reason.
		"ignore":     {exit, "ConfigError", ignore, true, ""},
		"count":      {exit, "ConfigError", count, false, ""},
		"fail index": {exit, "ConfigError", failIndex, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rule := failurepolicy.Rule{Name: tc.name, Action: tc.action, OnExitCodes: in("", 1)}
			if tc.pod == disruption {
				rule.OnExitCodes, rule.OnPodConditions = nil, disrupted()
			}
			m := decide(tc.pod, failurepolicy.Rule{Name: "First", Action: failJob, OnExitCodes: in("", 9)}, rule)
			if got := m.Reason(tc.granular); got != tc.want {
				t.Errorf("Reason(%v) = %q, want %q", tc.granular, got, tc.want)
			}
		})
	}
}

func TestRuleOf(t *testing.T) {
	plain := failurepolicy.Ref{Kind: failurepolicy.RefPlain, Index: -1}
	index := func(n int) failurepolicy.Ref {
		return failurepolicy.Ref{Kind: failurepolicy.RefIndex, Index: n, Name: fmt.Sprint(n)}
	}
	named := func(s string) failurepolicy.Ref {
		return failurepolicy.Ref{Kind: failurepolicy.RefName, Index: -1, Name: s}
	}
	for reason, want := range map[string]failurepolicy.Ref{
		"PodFailurePolicy":                      plain,
		"PodFailurePolicy_0":                    index(0),
		"PodFailurePolicy_19":                   index(19),
		"PodFailurePolicy_ExitCode2":            named("ExitCode2"),
		"PodFailurePolicy__":                    named("_"),
		"PodFailurePolicy_07":                   named("07"),
		"PodFailurePolicy_-1":                   named("-1"),
		"PodFailurePolicy_+1":                   named("+1"),
		"PodFailurePolicy_99999999999999999999": named("99999999999999999999"),
	} {
		if got, ok := failurepolicy.RuleOf(reason); !ok || got != want {
			t.Errorf("RuleOf(%q) = %+v, %v, want %+v", reason, got, ok, want)
		}
	}
	for _, reason := range []string{"", "BackoffLimitExceeded", "PodFailurePolicy_", "PodFailurePolicyX", "podFailurePolicy_0", "_0"} {
		if got, ok := failurepolicy.RuleOf(reason); ok {
			t.Errorf("RuleOf(%q) = %+v, want none", reason, got)
		}
	}
}

func TestFind(t *testing.T) {
	spec := func(names ...string) *failurepolicy.Spec {
		s := &failurepolicy.Spec{}
		for _, name := range names {
			s.Rules = append(s.Rules, failurepolicy.Rule{Name: name})
		}
		return s
	}
	for name, tc := range map[string]struct {
		spec   *failurepolicy.Spec
		reason string
		want   int
	}{
		"by name":                        {spec("A", "B"), "PodFailurePolicy_B", 1},
		"by position":                    {spec("A", "", ""), "PodFailurePolicy_2", 2},
		"named after its own position":   {spec("A", "1"), "PodFailurePolicy_1", 1},
		"named after another position":   {spec("1", "", "A"), "PodFailurePolicy_1", 0},
		"the position of a named rule":   {spec("A", "B"), "PodFailurePolicy_1", 1},
		"the first of two names":         {spec("", "A", "A"), "PodFailurePolicy_A", 1},
		"no rule of that name":           {spec("A", "B"), "PodFailurePolicy_C", -1},
		"no rule there":                  {spec("A", "B"), "PodFailurePolicy_2", -1},
		"a number that is no position":   {spec("A", "B"), "PodFailurePolicy_01", -1},
		"a number that is a name":        {spec("A", "01"), "PodFailurePolicy_01", 1},
		"the plain reason":               {spec("", "B"), "PodFailurePolicy", -1},
		"a reason of something else":     {spec("A", "B"), "DeadlineExceeded", -1},
		"a prefix with nothing after it": {spec("", "B"), "PodFailurePolicy_", -1},
		"no rules":                       {spec(), "PodFailurePolicy_0", -1},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tc.spec.Find(tc.reason)
			if got != tc.want || ok != (tc.want >= 0) {
				t.Errorf("Find(%q) = %d, %v, want %d, %v", tc.reason, got, ok, tc.want, tc.want >= 0)
			}
		})
	}
}

// KEP-4443, Validation: names "are unique" and "do not have integer values of any
// of the existing indexes (unless the value is the rule's own index)". Then every
// reason leads back to its rule.
func TestFindInvertsReason(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z][A-Za-z0-9_]{0,3}|2[0-9]{1,2}`), 0, 20, rapid.ID).Draw(t, "names")
		spec := &failurepolicy.Spec{}
		for i, name := range names {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				name = ""
			case 1:
				name = fmt.Sprint(i)
			}
			spec.Rules = append(spec.Rules, failurepolicy.Rule{Name: name})
		}
		for i, rule := range spec.Rules {
			reason := failurepolicy.Reason(i, rule.Name)
			if got, ok := spec.Find(reason); !ok || got != i {
				t.Fatalf("Find(%q) = %d, %v, want %d", reason, got, ok, i)
			}
		}
	})
}
