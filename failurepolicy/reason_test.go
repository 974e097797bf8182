package failurepolicy_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

func TestRuleOfMessage(t *testing.T) {
	for message, want := range map[string]int{
		"Container main for pod ns/job-0-abcde failed with exit code 42 matching FailJob rule at index 1": 1,
		"Pod ns/job-abcde has condition DisruptionTarget matching FailJob rule at index 0":                0,
		"Pod ns/pod failed with x matching FailJob rule at index 7 matching FailJob rule at index 12":     12,
		" matching FailJob rule at index 19": 19,
		"":                                   -1,
		"Job has reached the specified backoff limit":             -1,
		"Pod ns/pod has condition X matching FailJob rule":        -1,
		"... matching FailJob rule at index ":                     -1,
		"... matching FailJob rule at index 01":                   -1,
		"... matching FailJob rule at index +1":                   -1,
		"... matching FailJob rule at index -1":                   -1,
		"... matching FailJob rule at index 1 ":                   -1,
		"... matching FailJob rule at index 99999999999999999999": -1,
		"... matching Ignore rule at index 1":                     -1,
	} {
		if got, ok := failurepolicy.RuleOfMessage(message); got != want || ok != (want >= 0) {
			t.Errorf("RuleOfMessage(%q) = %d, %t, want %d", message, got, ok, want)
		}
	}
}

// The rule can be read back from whatever message this package writes.
func FuzzRuleOfMessage(f *testing.F) {
	f.Add(uint8(failurepolicy.ByExitCode), uint16(1), "main", "DisruptionTarget", "", "ns", "pod")
	f.Add(uint8(failurepolicy.ByMatcher), uint16(2), "", "", "x matching FailJob rule at index 7", "", "")
	f.Fuzz(func(t *testing.T, kind uint8, rule uint16, container, condition, detail, namespace, name string) {
		m := failurepolicy.Match{
			Kind: failurepolicy.Kind(kind % 4), Rule: int(rule), Action: failJob, Container: container,
			Condition: corev1.PodConditionType(condition), Detail: detail, Pod: types.NamespacedName{Namespace: namespace, Name: name},
		}
		if got, ok := failurepolicy.RuleOfMessage(m.Message()); !ok || got != m.Rule {
			t.Errorf("%q: got %d, %t, want %d", m.Message(), got, ok, m.Rule)
		}
	})
}

// So a framework knows the rule from a Job of any controller, granular reasons or not.
func TestFindCondition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := &failurepolicy.Spec{}
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[A-Z][a-z]{0,3}"), 1, 5, rapid.ID).Draw(t, "names")
		for i, name := range names {
			if rapid.Bool().Draw(t, "unnamed") {
				name = ""
			}
			spec.Rules = append(spec.Rules, failurepolicy.Rule{Name: name, Action: failJob, OnExitCodes: in("", int32(i+1))})
		}
		want := rapid.IntRange(0, len(names)-1).Draw(t, "rule")
		m := failurepolicy.Compile(spec).Match(podThatExited(exited("main", int32(want+1))))
		for _, granular := range []bool{false, true} {
			c := &batchv1.JobCondition{Type: batchv1.JobFailed, Reason: m.Reason(granular), Message: m.Message()}
			got, ok := spec.FindCondition(c)
			if !ok || got != want {
				t.Fatalf("granular %t: got %d, %t, want %d", granular, got, ok, want)
			}
			if reason := failurepolicy.Reason(got, spec.Rules[got].Name); reason != m.Reason(true) {
				t.Fatalf("granular %t: the reason is %s, want %s", granular, reason, m.Reason(true))
			}
		}
	})
}

func TestFindCondition_none(t *testing.T) {
	message := "Pod ns/pod has condition X matching FailJob rule at index 1"
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Name: "1"}, {Name: "B"}}}
	for _, tc := range []struct {
		reason string
		spec   *failurepolicy.Spec
		c      *batchv1.JobCondition
		want   int
	}{
		{"the message has a position, not a name", spec, &batchv1.JobCondition{Reason: "PodFailurePolicy", Message: message}, 1},
		{"a name goes before a position in a reason", spec, &batchv1.JobCondition{Reason: "PodFailurePolicy_1", Message: message}, 0},
		{"a position beyond the rules", &failurepolicy.Spec{Rules: spec.Rules[:1]}, &batchv1.JobCondition{Reason: "PodFailurePolicy", Message: message}, -1},
		{"another reason", spec, &batchv1.JobCondition{Reason: "BackoffLimitExceeded", Message: message}, -1},
		{"no position", spec, &batchv1.JobCondition{Reason: "PodFailurePolicy"}, -1},
		{"no condition", spec, nil, -1},
		{"no policy", nil, &batchv1.JobCondition{Reason: "PodFailurePolicy", Message: message}, -1},
	} {
		if got, ok := tc.spec.FindCondition(tc.c); got != tc.want || ok != (tc.want >= 0) {
			t.Errorf("%s: got %d, %t, want %d", tc.reason, got, ok, tc.want)
		}
	}
}
