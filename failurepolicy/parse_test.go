package failurepolicy_test

import (
	"cmp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
)

func TestMatchOf(t *testing.T) {
	pod := types.NamespacedName{Namespace: "ns", Name: "name"}
	at := func(rule int, name string) failurepolicy.Match {
		return failurepolicy.Match{Rule: rule, Name: name, Action: failJob}
	}
	with := func(m failurepolicy.Match, change func(*failurepolicy.Match)) failurepolicy.Match {
		change(&m)
		return m
	}
	exited := func(m *failurepolicy.Match) { m.Container, m.ExitCode, m.Pod = "main", 42, pod }
	const exit = "Container main for pod ns/name failed with exit code 42 matching FailJob rule at index 1"
	for name, tc := range map[string]struct {
		reason, message string
		want            failurepolicy.Match
	}{
		"exit code":              {"PodFailurePolicy", exit, with(at(1, ""), exited)},
		"exit code, named":       {"PodFailurePolicy_Gpu", exit, with(at(1, "Gpu"), exited)},
		"the first rule, named":  {"PodFailurePolicy_Gpu", "Pod ns/name failed matching FailJob rule at index 0", with(at(0, "Gpu"), func(m *failurepolicy.Match) { m.Pod = pod })},
		"exit code, by position": {"PodFailurePolicy_1", exit, with(at(1, "1"), exited)},
		// A rule may be named like the position of another rule only if the policy is not valid.
		"named like another position": {"PodFailurePolicy_2", exit, with(at(1, "2"), exited)},
		"negative exit code": {"PodFailurePolicy", "Container main for pod ns/name failed with exit code -1 matching FailJob rule at index 0",
			with(at(0, ""), func(m *failurepolicy.Match) { m.Container, m.ExitCode, m.Pod = "main", -1, pod })},
		"condition": {"PodFailurePolicy", "Pod ns/name has condition DisruptionTarget matching FailJob rule at index 0",
			with(at(0, ""), func(m *failurepolicy.Match) { m.Condition, m.Pod = corev1.DisruptionTarget, pod })},
		"detail": {"PodFailurePolicy", "Pod ns/name failed with reason Evicted matching FailJob rule at index 0",
			with(at(0, ""), func(m *failurepolicy.Match) { m.Detail, m.Pod = "reason Evicted", pod })},
		"a detail that looks like a condition": {"PodFailurePolicy", "Pod ns/name failed with x has condition y matching FailJob rule at index 0",
			with(at(0, ""), func(m *failurepolicy.Match) { m.Detail, m.Pod = "x has condition y", pod })},
		"a detail that looks like a rule": {"PodFailurePolicy", "Pod ns/name failed with x matching FailJob rule at index 7 matching FailJob rule at index 0",
			with(at(0, ""), func(m *failurepolicy.Match) { m.Detail, m.Pod = "x matching FailJob rule at index 7", pod })},
		"no evidence":              {"PodFailurePolicy", "Pod ns/name failed matching FailJob rule at index 3", with(at(3, ""), func(m *failurepolicy.Match) { m.Pod = pod })},
		"no message":               {"PodFailurePolicy", "", at(-1, "")},
		"no message, named":        {"PodFailurePolicy_Gpu", "", at(-1, "Gpu")},
		"another message":          {"PodFailurePolicy", "because", at(-1, "")},
		"a damaged position":       {"PodFailurePolicy", exit + "x", with(at(-1, ""), exited)},
		"exit code 0":              {"PodFailurePolicy", "Container main for pod ns/name failed with exit code 0 matching FailJob rule at index 1", at(1, "")},
		"a large exit code":        {"PodFailurePolicy", "Container main for pod ns/name failed with exit code 4294967296 matching FailJob rule at index 1", at(1, "")},
		"more than a number":       {"PodFailurePolicy", "Container main for pod ns/name failed with exit code 42x matching FailJob rule at index 1", at(1, "")},
		"a condition with a space": {"PodFailurePolicy", "Pod ns/name has condition a b matching FailJob rule at index 1", at(1, "")},
		"another beginning":        {"PodFailurePolicy", "The Pod ns/name failed matching FailJob rule at index 1", at(1, "")},
		"a detail of two lines": {"PodFailurePolicy", "Pod ns/name failed with a\nb matching FailJob rule at index 1",
			with(at(1, ""), func(m *failurepolicy.Match) { m.Detail, m.Pod = "a\nb", pod })},
		"a damaged position, by position": {"PodFailurePolicy_2", exit + "x", with(at(2, "2"), exited)},
		"no container":                    {"PodFailurePolicy", "Container  matching FailJob rule at index 1", at(1, "")},
		"no namespace":                    {"PodFailurePolicy", "Pod name failed matching FailJob rule at index 1", at(1, "")},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := failurepolicy.MatchOf(tc.reason, tc.message); !ok || got != tc.want {
				t.Errorf("%v\n got %+v\nwant %+v", ok, got, tc.want)
			}
		})
	}
	if got, ok := failurepolicy.MatchOf("BackoffLimitExceeded", exit); ok || got != (failurepolicy.Match{}) {
		t.Errorf("another reason: %+v, %v", got, ok)
	}
}

// "It is the inverse of Match.Message with Reason".
func TestMatchOf_inverse(t *testing.T) {
	inverted := 0
	inverts := func(t *rapid.T) {
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		pod := anyPod(choose)
		pod.Namespace, pod.Name = "ns", "name"
		match := anySpec(choose).Match(pod)
		if match.Action != failJob || match.Condition == "" && match.ExitCode == 0 && match.Detail == "" {
			return // a condition without a type looks like a Matcher without a detail
		}
		inverted++
		match.Name = cmp.Or(match.Name, strconv.Itoa(match.Rule))
		if got, ok := failurepolicy.MatchOf(failurepolicy.Reason(match.Rule, match.Name), match.Message()); !ok || got != match {
			t.Fatalf("%v\n got %+v\nwant %+v\n%s", ok, got, match, match.Message())
		}
		match.Name = ""
		if got, ok := failurepolicy.MatchOf("PodFailurePolicy", match.Message()); !ok || got != match {
			t.Fatalf("%v\n got %+v\nwant %+v\n%s", ok, got, match, match.Message())
		}
	}
	for range 20 { // few of the drawn rules fail a Job
		rapid.Check(t, inverts)
	}
	if inverted == 0 {
		t.Error("no rule has failed a Job")
	}
}
