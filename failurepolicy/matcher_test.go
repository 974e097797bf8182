package failurepolicy_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

func said(name string, code int32, message string) corev1.ContainerStatus {
	s := exited(name, code)
	s.State.Terminated.Message = message
	return s
}

// says returns a test that a message contains a text.
func says(text string) func(string) bool {
	return func(message string) bool { return strings.Contains(message, text) }
}

// kubernetes-sigs/jobset#1091, armadaproject/armada#4713: match more than exit
// codes and conditions.
func TestMatchers(t *testing.T) {
	evicted := podWith(corev1.PodStatus{Reason: "Evicted"})
	gpu := podWith(corev1.PodStatus{
		ContainerStatuses:     []corev1.ContainerStatus{said("done", 0, "CUDA done"), said("main", 1, "CUDA error 700"), {Name: "sidecar"}},
		InitContainerStatuses: []corev1.ContainerStatus{said("init", 1, "no disk")},
	})
	isError := func(message string) bool { return strings.Contains(message, "error") }
	for name, tc := range map[string]struct {
		matcher failurepolicy.Matcher
		pod     *corev1.Pod
		detail  string
		ok      bool
	}{
		"reason":                       {failurepolicy.OnPodReason("NodeLost", "Evicted"), evicted, "reason Evicted", true},
		"another reason":               {failurepolicy.OnPodReason("NodeLost"), evicted, "", false},
		"no reasons":                   {failurepolicy.OnPodReason(), evicted, "", false},
		"pod without a reason":         {failurepolicy.OnPodReason(""), gpu, "", false},
		"reason of no pod":             {failurepolicy.OnPodReason(""), nil, "", false},
		"message":                      {failurepolicy.OnTerminationMessage("main", says("CUDA")), gpu, "the termination message of container main", true},
		"message of any container":     {failurepolicy.OnTerminationMessage("", says("CUDA")), gpu, "the termination message of container main", true},
		"message of an init container": {failurepolicy.OnTerminationMessage("", says("disk")), gpu, "the termination message of container init", true},
		"message of another container": {failurepolicy.OnTerminationMessage("init", says("CUDA")), gpu, "", false},
		"message of a successful one":  {failurepolicy.OnTerminationMessage("done", says("CUDA")), gpu, "", false},
		"another message":              {failurepolicy.OnTerminationMessage("", says("NCCL")), gpu, "", false},
		"no message":                   {failurepolicy.OnTerminationMessage("", says("")), podThatExited(exited("main", 1)), "", false},
		"message of no pod":            {failurepolicy.OnTerminationMessage("", says("")), nil, "", false},
		"message by a test":            {failurepolicy.OnTerminationMessage("main", isError), gpu, "the termination message of container main", true},
		"message that fails a test":    {failurepolicy.OnTerminationMessage("init", isError), gpu, "", false},
		"message by a nil test":        {failurepolicy.OnTerminationMessage("", nil), gpu, "", false},
		"a custom function":            {func(p *corev1.Pod) (string, bool) { return "no node", p.Spec.NodeName == "" }, gpu, "no node", true},
		"a custom function, not met":   {func(*corev1.Pod) (string, bool) { return "nothing", false }, gpu, "nothing", false},
	} {
		t.Run(name, func(t *testing.T) {
			detail, ok := tc.matcher(tc.pod)
			if detail != tc.detail || ok != tc.ok {
				t.Errorf("Matcher = %q, %v, want %q, %v", detail, ok, tc.detail, tc.ok)
			}
			m := decide(tc.pod, failurepolicy.Rule{Action: ignore, Matcher: tc.matcher})
			if m.Matched() != tc.ok {
				t.Errorf("a rule with the matcher: matched %v, want %v", m.Matched(), tc.ok)
			}
			if !tc.ok && m.Detail != "" {
				t.Errorf("a rule with the matcher does not match, but the detail is %q", m.Detail)
			}
		})
	}
}

// Of two containers whose messages match, the detail names the regular one, whichever failed
// first. Init containers come last, as with exit codes.
func TestOnTerminationMessage_initContainersLast(t *testing.T) {
	pod := podWith(corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{said("init", 1, "no disk")},
		ContainerStatuses:     []corev1.ContainerStatus{said("main", 1, "no disk")},
	})
	const want = "the termination message of container main"
	if got, ok := failurepolicy.OnTerminationMessage("", says("disk"))(pod); !ok || got != want {
		t.Errorf("got %q, %t; want %q", got, ok, want)
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
		if m := decide(pod, rule); m.Matched() {
			t.Errorf("%s that do not match, and a Matcher that does: %s, want no match", name, m.Explain())
		}
	}
	if got, want := decide(pod, failurepolicy.Rule{Name: "Any", Action: failJob, Matcher: always}).Explain(), "rule 0 (Any) on always"; got != want {
		t.Errorf("only a Matcher: %q, want %q", got, want)
	}
	silent := func(*corev1.Pod) (string, bool) { return "", true }
	if got, want := decide(pod, failurepolicy.Rule{Action: failJob, Matcher: silent}).Explain(), "rule 0"; got != want {
		t.Errorf("a Matcher without a detail: %q, want %q", got, want)
	}
}

// The caller may change the list of reasons after it has made a Matcher from it.
func TestOnPodReasonKeepsItsOwnList(t *testing.T) {
	reasons := []string{"Evicted"}
	matcher := failurepolicy.OnPodReason(reasons...)
	reasons[0] = "NodeLost"
	for reason, want := range map[string]bool{"Evicted": true, "NodeLost": false} {
		detail, ok := matcher(podWith(corev1.PodStatus{Reason: reason}))
		if ok != want {
			t.Errorf("reason %s: matched %v (%q), want %v", reason, ok, detail, want)
		}
	}
}
