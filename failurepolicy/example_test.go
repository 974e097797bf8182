package failurepolicy_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate/failurepolicy"
)

func Example() {
	var spec failurepolicy.Spec
	err := yaml.Unmarshal([]byte(`
rules:
- action: Ignore
  onPodConditions:
  - type: DisruptionTarget
- name: BadConfig
  action: FailJob
  onExitCodes:
    operator: In
    values: [42]
`), &spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "default", "train-0-x7k2p"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "main",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42}},
	}}
	match := spec.Match(pod)
	fmt.Println(match.Explain())
	fmt.Println(failurepolicy.Reason(match.Rule, match.Name))
	fmt.Println(match.Message())
	fmt.Println(spec.Find("PodFailurePolicy", match.Message()))
	// Output:
	// rule 1 (BadConfig) on container main, exit code 42
	// PodFailurePolicy_BadConfig
	// Container main for pod default/train-0-x7k2p failed with exit code 42 matching FailJob rule at index 1
	// 1 true
}

func ExampleMatcher() {
	spec := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{
		Name:   "NodeGone",
		Action: "Ignore",
		Matcher: func(pod *corev1.Pod) (string, bool) {
			reason := pod.Status.Reason
			return "reason " + reason, reason == "NodeLost" || reason == "NodeShutdown"
		},
	}}}
	pod := &corev1.Pod{Status: corev1.PodStatus{Reason: "NodeLost"}}
	fmt.Println(spec.Match(pod).Explain())
	// Output: rule 0 (NodeGone) on reason NodeLost
}

func ExampleRuleNames() {
	policy := &failurepolicy.Spec{Rules: []failurepolicy.Rule{{Name: "ExitCode2"}, {Name: "exit code 3"}, {Name: "0"}, {}}}
	for _, err := range failurepolicy.RuleNames(policy, field.NewPath("spec", "podFailurePolicy")) {
		fmt.Println(err.Field, err.Type)
	}
	// Output:
	// spec.podFailurePolicy.rules[1].name Invalid value
	// spec.podFailurePolicy.rules[2].name Invalid value
}
