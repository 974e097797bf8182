package failurepolicy_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// onReason matches a pod whose status has one of these reasons.
func onReason(reasons ...string) failurepolicy.Matcher {
	return func(pod *corev1.Pod) (string, bool) {
		if !slices.Contains(reasons, pod.Status.Reason) {
			return "", false
		}
		return pod.Status.Reason, true
	}
}

// onMessage matches a pod with a container whose termination message contains a text.
func onMessage(text string) failurepolicy.Matcher {
	return func(pod *corev1.Pod) (string, bool) {
		i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.State.Terminated != nil && strings.Contains(s.State.Terminated.Message, text)
		})
		return "the message", i >= 0
	}
}

// kubernetes-sigs/jobset#1091, armadaproject/armada#4713: match more than exit
// codes and conditions.
func TestMatchers(t *testing.T) {
	evicted := podWith(corev1.PodStatus{Reason: "Evicted"})
	for name, tc := range map[string]struct {
		matcher failurepolicy.Matcher
		detail  string
		ok      bool
	}{
		"met":                   {onReason("NodeLost", "Evicted"), "Evicted", true},
		"not met":               {onReason("NodeLost"), "", false},
		"not met, but a detail": {onMessage("CUDA"), "", false},
		"met, without a detail": {func(p *corev1.Pod) (string, bool) { return "", p.Spec.NodeName == "" }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := decide(evicted, failurepolicy.Rule{Action: ignore, Matcher: tc.matcher})
			Same(t, "matched, and the detail", Pair(m.Matched(), m.Detail), Pair(tc.ok, tc.detail))
		})
	}
	if m := decide(nil, failurepolicy.Rule{Action: ignore, Matcher: onReason("")}); m.Matched() {
		t.Errorf("no pod: %+v, want no match", m) // and no call of the Matcher
	}
}

// A rule has one requirement. A Matcher is ignored if the rule has another requirement.
func TestMatcherIsUsedLast(t *testing.T) {
	always := func(*corev1.Pod) (string, bool) { return "always", true }
	pod := podThatExited(exited("main", 1))
	for name, rule := range map[string]failurepolicy.Rule{
		"exit codes": {Action: failJob, OnExitCodes: in("", 2), Matcher: always},
		"conditions": {Action: failJob, OnPodConditions: disrupted(), Matcher: always},
	} {
		Same(t, name+" that do not match, and a Matcher that does", decide(pod, rule).Matched(), false)
	}
	Same(t, "only a Matcher", decide(pod, failurepolicy.Rule{Name: "Any", Action: failJob, Matcher: always}).Explain(), "rule 0 (Any) on always")
	silent := func(*corev1.Pod) (string, bool) { return "", true }
	Same(t, "a Matcher without a detail", decide(pod, failurepolicy.Rule{Action: failJob, Matcher: silent}).Explain(), "rule 0")
}
