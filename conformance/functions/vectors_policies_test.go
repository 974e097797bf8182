package functions

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/vectors"
)

var aboutPolicies = []subject{
	{
		name: "failurePolicy", oracle: "matchPodFailurePolicy",
		draw: func(d draw) any {
			in := vectors.FailurePolicy{Policy: d.failurePolicy(), Pod: d.pod("pod")}
			in.Pod.Namespace = "ns"
			if d.percent(30) {
				in.Names = []string{"first", "", "third"}
			}
			return in
		},
		kubernetes: asks(func(in vectors.FailurePolicy, out *vectors.Match) {
			m := real.MatchFailurePolicy(in.Policy, in.Pod)
			out.Action, out.Counts, out.Message = m.Action, m.Counted, m.Message
		}),
		aimed: []any{vectors.FailurePolicy{Pod: &corev1.Pod{}}},
	},
	{name: "failedRule", aimed: conditionsOfRules()},
	{name: "ruleNames", aimed: namesOfRules()},
	{
		name: "successPolicy", oracle: "matchSuccessPolicy",
		draw: func(d draw) any { return d.successPolicy() },
		kubernetes: asks(func(in vectors.SuccessPolicy, out *vectors.Met) {
			message := real.MatchSuccessPolicy(in.Policy, in.Completions, real.ParseIndexes(in.Completed, int(in.Completions)))
			rule := 0
			if _, err := fmt.Sscanf(message, "Matched rules at index %d", &rule); err != nil {
				out.Rule = nil
				return
			}
			out.Rule = &rule
		}),
		aimed: []any{vectors.SuccessPolicy{Completions: 3, Completed: "0-2"}},
	},
}

// conditionsOfRules returns conditions that name a rule, and others.
func conditionsOfRules() (all []any) {
	const message = "Container c for pod ns/p failed with exit code 3 matching FailJob rule at index "
	for _, reason := range []string{
		"", "BackoffLimitExceeded", "PodFailurePolicy", "PodFailurePolicy_", "PodFailurePolicy_0", "PodFailurePolicy_1", "PodFailurePolicy_2", "PodFailurePolicy_3", "PodFailurePolicy_-1",
		"PodFailurePolicy_01", "PodFailurePolicy_first", "PodFailurePolicy_third", "PodFailurePolicy_other", "Other_first",
	} {
		for _, m := range []string{"", message + "0", message + "1", message + "2", message + "3", message + "-1", message + "01", message + "x", message, message + "1" + message + "2"} {
			all = append(all, vectors.Condition{Reason: reason, Message: m, Names: []string{"first", "", "third"}})
		}
	}
	return append(all, vectors.Condition{Reason: "PodFailurePolicy_twice", Names: []string{"a", "twice", "twice"}},
		vectors.Condition{Reason: "PodFailurePolicy_1", Names: []string{"1", "b"}})
}

// namesOfRules returns names that are valid, and names that are almost valid.
func namesOfRules() (all []any) {
	for _, names := range [][]string{
		{}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"a", "a"}, {"a", "", "a", "a"}, {"0"}, {"1", "0"}, {"1", "x"}, {"2", "x"}, {"-1", "x"}, {"x", "1"}, {"01", "x"}, {"x", "+0"},
		{"a b"}, {"a,b:c_d"}, {"a,"}, {"a:"}, {"a_"}, {"_a"}, {"é"}, {"a\n"}, {"A-b"},
	} {
		all = append(all, vectors.Names{Names: names})
	}
	for n := 108; n < 116; n++ {
		all = append(all, vectors.Names{Names: []string{strings.Repeat("a", n)}})
	}
	return all
}
