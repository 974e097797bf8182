package failurepolicy_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
)

const (
	failJob   = batchv1.PodFailurePolicyActionFailJob
	failIndex = batchv1.PodFailurePolicyActionFailIndex
	ignore    = batchv1.PodFailurePolicyActionIgnore
	count     = batchv1.PodFailurePolicyActionCount
)

func in(container string, values ...int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
	return exitCodes(container, batchv1.PodFailurePolicyOnExitCodesOpIn, values)
}

func notIn(container string, values ...int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
	return exitCodes(container, batchv1.PodFailurePolicyOnExitCodesOpNotIn, values)
}

// exitCodes returns a requirement. An empty container means any container.
func exitCodes(container string, op batchv1.PodFailurePolicyOnExitCodesOperator, values []int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
	r := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: values}
	if container != "" {
		r.ContainerName = &container
	}
	return r
}

func pattern(typ corev1.PodConditionType, status corev1.ConditionStatus) batchv1.PodFailurePolicyOnPodConditionsPattern {
	return batchv1.PodFailurePolicyOnPodConditionsPattern{Type: typ, Status: status}
}

func disrupted() []batchv1.PodFailurePolicyOnPodConditionsPattern {
	return []batchv1.PodFailurePolicyOnPodConditionsPattern{pattern(corev1.DisruptionTarget, corev1.ConditionTrue)}
}

func exited(name string, code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
	}}
}

func podWith(status corev1.PodStatus) *corev1.Pod {
	pod := &corev1.Pod{Status: status}
	pod.Namespace, pod.Name = "ns", "name"
	return pod
}

func podThatExited(statuses ...corev1.ContainerStatus) *corev1.Pod {
	return podWith(corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: statuses})
}

func podOn(conditions ...corev1.PodCondition) *corev1.Pod {
	return podWith(corev1.PodStatus{Phase: corev1.PodFailed, Conditions: conditions})
}

func condition(typ corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: typ, Status: status}
}

// decide matches the pod with the rules.
func decide(pod *corev1.Pod, rules ...failurepolicy.Rule) failurepolicy.Match {
	return (&failurepolicy.Spec{Rules: rules}).Match(pod)
}

// Each case checks the action and, with Explain, the evidence.
func TestMatch(t *testing.T) {
	running := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, tc := range map[string]struct {
		rules   []failurepolicy.Rule
		pod     *corev1.Pod
		action  batchv1.PodFailurePolicyAction
		explain string
	}{
		"no rules": {nil, podThatExited(exited("main", 1)), "", "no rule matched"},

		// "Once a rule matches a Pod failure, the remaining of the rules are ignored."
		"first of two that match": {
			[]failurepolicy.Rule{{Action: ignore, OnExitCodes: in("", 1, 2)}, {Action: failJob, OnExitCodes: in("", 2)}},
			podThatExited(exited("main", 2)), ignore, "rule 0 on container main, exit code 2"},
		"none matches": {
			[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("", 1)}, {Action: failJob, OnPodConditions: disrupted()}},
			podThatExited(exited("main", 2)), "", "no rule matched"},

		// "In: the requirement is satisfied if at least one container exit code
		// [...] is in the set of specified values."
		"in":                {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("", 1, 42)}}, podThatExited(exited("main", 42)), failJob, "rule 0 on container main, exit code 42"},
		"in, negative code": {[]failurepolicy.Rule{{Action: ignore, OnExitCodes: in("", -1073741510)}}, podThatExited(exited("main", -1073741510)), ignore, "rule 0 on container main, exit code -1073741510"},
		"in, one of many containers": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("", 42)}},
			podThatExited(exited("a", 0), exited("b", 1), exited("c", 42)), failJob, "rule 0 on container c, exit code 42"},

		// "NotIn: the requirement is satisfied if at least one container exit code
		// [...] is not in the set of specified values."
		"not in":         {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: notIn("", 1, 2)}}, podThatExited(exited("main", 3)), failJob, "rule 0 on container main, exit code 3"},
		"not in, but is": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: notIn("", 1, 2)}}, podThatExited(exited("main", 2)), "", "no rule matched"},

		// "Containers completed with success (exit code 0) are excluded from the
		// requirement check."
		"in 0":                  {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("", 0)}}, podThatExited(exited("main", 0)), "", "no rule matched"},
		"not in 0, exit code 5": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: notIn("", 0)}}, podThatExited(exited("main", 5)), failJob, "rule 0 on container main, exit code 5"},

		// "Restricts the check for exit codes to the container with the specified name."
		"other container": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("main", 1)}}, podThatExited(exited("sidecar", 1)), "", "no rule matched"},
		"named init container": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("init", 5)}},
			podWith(corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{exited("init", 5)}}), failJob, "rule 0 on container init, exit code 5"},
		"regular containers before init containers": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: notIn("", 1)}},
			podWith(corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{exited("init", 5)},
				ContainerStatuses:     []corev1.ContainerStatus{exited("a", 1), exited("b", 7)},
			}), failJob, "rule 0 on container b, exit code 7"},
		"still running": {[]failurepolicy.Rule{{Action: failJob, OnExitCodes: notIn("", 1)}}, podThatExited(running), "", "no rule matched"},

		// "To match a pod condition it is required that specified type equals the
		// pod condition type", and likewise the status.
		"condition": {[]failurepolicy.Rule{{Action: ignore, OnPodConditions: disrupted()}},
			podOn(condition(corev1.DisruptionTarget, "True")), ignore, "rule 0 on pod condition DisruptionTarget"},
		"condition of another status": {[]failurepolicy.Rule{{Action: ignore, OnPodConditions: disrupted()}},
			podOn(condition(corev1.DisruptionTarget, "False")), "", "no rule matched"},
		"condition of another type": {[]failurepolicy.Rule{{Action: ignore, OnPodConditions: disrupted()}},
			podOn(condition("ConfigIssue", "True")), "", "no rule matched"},
		// "Defaults to True."
		"no status is True": {
			[]failurepolicy.Rule{{Action: ignore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{pattern("ConfigIssue", "")}}},
			podOn(condition("ConfigIssue", "True")), ignore, "rule 0 on pod condition ConfigIssue"},
		"the order of the pod decides": {
			[]failurepolicy.Rule{{Action: failJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{pattern("B", "True"), pattern("A", "True")}}},
			podOn(condition("A", "True"), condition("B", "True")), failJob, "rule 0 on pod condition A"},

		// "Clients should react to an unknown action by skipping the rule."
		"unknown action": {
			[]failurepolicy.Rule{{Action: "FailCluster", OnExitCodes: in("", 1)}, {Action: failJob, OnExitCodes: in("", 1)}},
			podThatExited(exited("main", 1)), failJob, "rule 1 on container main, exit code 1"},
		// "Clients should react to an unknown operator by assuming the requirement
		// is not satisfied."
		"unknown operator": {
			[]failurepolicy.Rule{{Action: failJob, OnExitCodes: exitCodes("", "Above", []int32{0})}, {Action: count, OnExitCodes: in("", 1)}},
			podThatExited(exited("main", 1)), count, "rule 1 on container main, exit code 1"},

		"no requirement": {[]failurepolicy.Rule{{Action: failJob}, {Action: failJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{}}},
			podThatExited(exited("main", 1)), "", "no rule matched"},
		"exit codes hide conditions": {
			[]failurepolicy.Rule{{Action: failJob, OnExitCodes: in("", 2), OnPodConditions: disrupted()}},
			podWith(corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{exited("main", 1)},
				Conditions:        []corev1.PodCondition{condition(corev1.DisruptionTarget, "True")},
			}), "", "no rule matched"},

		"name": {[]failurepolicy.Rule{{Action: count, OnExitCodes: in("", 2)}, {Name: "ExitCode42", Action: failJob, OnExitCodes: in("", 42)}},
			podThatExited(exited("main", 42)), failJob, "rule 1 (ExitCode42) on container main, exit code 42"},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.pod, tc.rules...)
			Same(t, "action, and explained", Pair(got.Action, got.Explain()), Pair(tc.action, tc.explain))
			Same(t, "Matched", got.Matched(), tc.action != "")
		})
	}
}

func TestWhatAnActionMeans(t *testing.T) {
	type means struct{ Matched, Counts bool }
	for action, want := range map[batchv1.PodFailurePolicyAction]means{
		// "the counter towards .backoffLimit [...] is not incremented"
		ignore: {Matched: true},
		// "the pod failure is handled in the default way - the counter [...] is
		// incremented"
		count: {Matched: true, Counts: true},
		// "mark the pod's job as Failed and terminate all running pods"
		failJob: {Matched: true, Counts: true},
		// "mark the Job's index as failed to avoid restarts within this index"
		failIndex: {Matched: true, Counts: true},
		// "When no rule matches the Pod failure, the default handling applies"
		"": {Counts: true},
	} {
		m := decide(podThatExited(exited("main", 1)), failurepolicy.Rule{Action: action, OnExitCodes: in("", 1)})
		got := means{m.Matched(), m.Counts()}
		Same(t, fmt.Sprintf("action %q means", action), Pair(got, m.Action), Pair(want, action))
	}
}

func TestMessage(t *testing.T) {
	says := func(detail string) failurepolicy.Matcher {
		return func(*corev1.Pod) (string, bool) { return detail, true }
	}
	exit, disruption := podThatExited(exited("main", 42)), podOn(condition(corev1.DisruptionTarget, "True"))
	pass := failurepolicy.Rule{Action: failJob, OnExitCodes: in("", 1)}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		rule failurepolicy.Rule
		want string
	}{
		"exit code": {exit, failurepolicy.Rule{Name: "a", Action: failJob, OnExitCodes: in("", 42)},
			"Container main for pod ns/name failed with exit code 42 matching FailJob rule at index 1"},
		"condition": {disruption, failurepolicy.Rule{Name: "a", Action: failJob, OnPodConditions: disrupted()},
			"Pod ns/name has condition DisruptionTarget matching FailJob rule at index 1"},
		"matcher": {exit, failurepolicy.Rule{Name: "a", Action: failJob, Matcher: says("reason Evicted")},
			"Pod ns/name failed with reason Evicted matching FailJob rule at index 1"},
		"matcher without a detail": {exit, failurepolicy.Rule{Action: failJob, Matcher: says("")},
			"Pod ns/name failed matching FailJob rule at index 1"},
		"no match":   {disruption, failurepolicy.Rule{Action: failJob, OnExitCodes: in("", 42)}, ""},
		"ignore":     {exit, failurepolicy.Rule{Action: ignore, OnExitCodes: in("", 42)}, ""},
		"count":      {exit, failurepolicy.Rule{Action: count, OnExitCodes: in("", 42)}, ""},
		"fail index": {exit, failurepolicy.Rule{Action: failIndex, OnExitCodes: in("", 42)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "Message", decide(tc.pod, pass, tc.rule).Message(), tc.want)
		})
	}
}

func TestZeroMatch(t *testing.T) {
	var m failurepolicy.Match
	Same(t, "matched, counts", Pair(m.Matched(), m.Counts()), Pair(false, true))
	Same(t, "zero Match: message, explained", Pair(m.Message(), m.Explain()), Pair("", "no rule matched"))
}

// k#115688: a Failed pod whose containers all exited with 0 matches no rule on
// exit codes, whatever the operator.
func TestFailedPodWhoseContainersExited0_k115688(t *testing.T) {
	m := decide(podThatExited(exited("main", 0), exited("sidecar", 0)),
		failurepolicy.Rule{Action: failJob, OnExitCodes: in("", 0, 1)},
		failurepolicy.Rule{Action: failJob, OnExitCodes: notIn("", 1)},
		failurepolicy.Rule{Action: failJob, OnExitCodes: notIn("")})
	Same(t, "matched, counts", Pair(m.Matched(), m.Counts()), Pair(false, true))
	Same(t, "Explain", m.Explain(), "no rule matched")
}

// The API server limits the exit codes of a rule to 255. Like the Job controller, Match
// accepts rules with more.
func TestMatch_moreExitCodesThanTheServerTakes(t *testing.T) {
	var values []int32
	for code := range int32(300) {
		values = append(values, code+1)
	}
	pod := podThatExited(exited("main", 299))
	if m := decide(pod, failurepolicy.Rule{Action: failJob, OnExitCodes: in("", values...)}); !m.Matched() {
		t.Error("a rule with 300 exit codes does not match the one before the last")
	}
}

// A Match without a rule has the position -1. k#121147: a nil policy made the controller panic.
func TestMatch_none_k121147(t *testing.T) {
	var none *failurepolicy.Spec
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Action: ignore, OnExitCodes: in("", 1)}}}
	for _, got := range []failurepolicy.Match{
		none.Match(podThatExited(exited("main", 1))), (&failurepolicy.Spec{}).Match(nil), spec.Match(nil), spec.Match(podThatExited(exited("main", 2))),
	} {
		Same(t, "match", got, failurepolicy.Match{Rule: -1})
		Same(t, "matched, and counts", []bool{got.Matched(), got.Counts()}, []bool{false, true})
	}
}
