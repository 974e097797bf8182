package failurepolicy_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// A reason is the reason of a rule. Without a match there is none.
func TestReasonWithoutAMatch(t *testing.T) {
	var none *failurepolicy.Spec
	match := none.Match(podThatExited(exited("main", 1)))
	Same(t, fmt.Sprintf("Reason(%d, %q)", match.Rule, match.Name), failurepolicy.Reason(match.Rule, match.Name), "")
	for want, got := range map[string]string{
		"PodFailurePolicy_0": failurepolicy.Reason(0, ""),
		"PodFailurePolicy_A": failurepolicy.Reason(-1, "A"),
	} {
		Same(t, "Reason", got, want)
	}
}

// rulesNamed returns a policy whose rules have these names.
func rulesNamed(names ...string) *failurepolicy.Spec {
	s := &failurepolicy.Spec{}
	for _, name := range names {
		s.Rules = append(s.Rules, failurepolicy.Rule{Name: name})
	}
	return s
}

// KEP-4443, Validation: names "are unique" and "do not have integer values of any
// of the existing indexes (unless the value is the rule's own index)". Find then returns the
// rule of every reason.
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
			Same(t, "Find "+reason, Pair(spec.Find(reason, "")), Pair(i, true))
		}
	})
}

// The edges of a position, which random texts seldom meet.
func TestRuleOf_message(t *testing.T) {
	for message, want := range map[string]int{
		" matching FailJob rule at index 19": 19, "... matching FailJob rule at index -2": -1,
		"... matching FailJob rule at index 99999999999999999999": -1,
	} {
		Same(t, "RuleOf "+message, Pair(failurepolicy.RuleOf("PodFailurePolicy", message)), Pair(failurepolicy.Ref{Index: want}, true))
	}
}

// checkRule compares RuleOf and Find with the oracle, for a policy with these names. It also reads
// the rule from a message that this package writes about a pod and a container with any name:
// "RuleOf reads the position from the end of the message".
func checkRule(t rapid.TB, names []string, reason, message string, rule uint16) {
	t.Helper()
	want, wantOK := slowRuleOf(reason, message)
	Same(t, fmt.Sprintf("RuleOf(%q, %q)", reason, message), Pair(failurepolicy.RuleOf(reason, message)), Pair(want, wantOK))
	spec := rulesNamed(names...)
	at, atOK := slowFind(names, want, wantOK)
	Same(t, fmt.Sprintf("%q: Find(%q, %q)", names, reason, message), Pair(spec.Find(reason, message)), Pair(at, atOK))
	for _, m := range []failurepolicy.Match{
		{Container: message, ExitCode: 1}, {Condition: corev1.PodConditionType(message)}, {Detail: message}, {},
	} {
		m.Rule, m.Action, m.Pod = int(rule), failJob, types.NamespacedName{Namespace: reason, Name: message}
		if got, ok := failurepolicy.RuleOf("PodFailurePolicy", m.Message()); !ok || got.Index != m.Rule {
			t.Errorf("%q: got %+v, %t, want %d", m.Message(), got, ok, m.Rule)
		}
	}
}

// KEP-4443: "PodFailurePolicy_{ruleName}" or "PodFailurePolicy_{ruleIndex}". The Job controller writes
// PodFailurePolicy, and the position at the end of the message.
var (
	granularReason = regexp.MustCompile(`(?s)^PodFailurePolicy_(.+)$`)
	position       = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	endOfMessage   = regexp.MustCompile(`(?s)^.* matching FailJob rule at index (.*)$`)
)

func slowRuleOf(reason, message string) (failurepolicy.Ref, bool) {
	read := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil || !position.MatchString(text) {
			return -1
		}
		return n
	}
	if m := granularReason.FindStringSubmatch(reason); m != nil {
		return failurepolicy.Ref{Index: read(m[1]), Name: m[1]}, true
	}
	if reason != "PodFailurePolicy" {
		return failurepolicy.Ref{}, false
	}
	if m := endOfMessage.FindStringSubmatch(message); m != nil {
		return failurepolicy.Ref{Index: read(m[1])}, true
	}
	return failurepolicy.Ref{Index: -1}, true
}

// slowFind: "A name takes precedence over a position, and of two rules with the same name the first
// is returned."
func slowFind(names []string, ref failurepolicy.Ref, ok bool) (int, bool) {
	for i, name := range names {
		if ok && name != "" && name == ref.Name {
			return i, true
		}
	}
	for i := range names {
		if ok && i == ref.Index {
			return i, true
		}
	}
	return -1, false
}

func TestRuleOf_oracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom([]string{"0", "1", "19", "01", "+1", "-1", "", "x", "1 ", "999999999999999999", "99999999999999999999"})
		text := rapid.OneOf(number, rapid.SampledFrom([]string{"A", "A_B", "\n", " matching FailJob rule at index 7"}), rapid.StringN(0, 4, -1))
		names := rapid.SliceOfN(text, 0, 3).Draw(t, "names")
		reason := rapid.SampledFrom([]string{"PodFailurePolicy", "PodFailurePolicy_", "podFailurePolicy_", ""}).Draw(t, "prefix")
		if rapid.Bool().Draw(t, "named") {
			reason += text.Draw(t, "name")
		}
		message := text.Draw(t, "message") + rapid.SampledFrom([]string{"", " matching FailJob rule at index ", " matching Ignore rule at index "}).Draw(t, "rule") + number.Draw(t, "position")
		checkRule(t, names, reason, message, rapid.Uint16().Draw(t, "other"))
	})
}

// FuzzRuleOf reads the names of the rules from the lines of a text.
func FuzzRuleOf(f *testing.F) {
	f.Fuzz(func(t *testing.T, names, reason, message string, rule uint16) {
		checkRule(t, strings.Split(names, "\n"), reason, message, rule)
	})
}

// Find returns the rule for a Job of any controller, with or without granular reasons.
func TestFind_ofAnyController(t *testing.T) {
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
		m := spec.Match(podThatExited(exited("main", int32(want+1))))
		granular := failurepolicy.Reason(m.Rule, m.Name)
		for _, reason := range []string{"PodFailurePolicy", granular} {
			Same(t, "Find "+reason, Pair(spec.Find(reason, m.Message())), Pair(want, true))
			Same(t, reason+": the granular reason", failurepolicy.Reason(want, spec.Rules[want].Name), granular)
		}
	})
}
