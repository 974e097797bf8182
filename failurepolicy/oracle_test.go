package failurepolicy_test

// A slow and obvious implementation of the comments of the Kubernetes API, and generators of
// policies and pods.

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
)

// slowMatch: "The rules are evaluated in order. Once a rule matches a Pod
// failure, the remaining of the rules are ignored."
func slowMatch(s *failurepolicy.Spec, pod *corev1.Pod) failurepolicy.Match {
	for i, rule := range s.Rules {
		m := slowRequirement(rule, pod)
		if m == nil {
			continue
		}
		switch rule.Action {
		case "FailJob", "FailIndex", "Ignore", "Count":
		default: // "Clients should react to an unknown action by skipping the rule."
			continue
		}
		m.Rule, m.Name, m.Action = i, rule.Name, rule.Action
		m.Pod = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		return *m
	}
	return failurepolicy.Match{Rule: -1}
}

// slowRequirement returns the evidence, or nil if the requirement of the rule is not
// satisfied.
func slowRequirement(rule failurepolicy.Rule, pod *corev1.Pod) *failurepolicy.Match {
	if rule.OnExitCodes != nil {
		// "it lookups the .state.terminated.exitCode for each app container and
		// init container status"
		all := append(slices.Clone(pod.Status.ContainerStatuses), pod.Status.InitContainerStatuses...)
		for _, status := range all {
			if slowExitCode(*rule.OnExitCodes, status) {
				return &failurepolicy.Match{
					Container: status.Name, ExitCode: status.State.Terminated.ExitCode,
				}
			}
		}
		return nil
	}
	if len(rule.OnPodConditions) > 0 {
		// "The requirement is satisfied if at least one pattern matches an actual
		// pod condition."
		for _, condition := range pod.Status.Conditions {
			for _, pattern := range rule.OnPodConditions {
				status := pattern.Status
				if status == "" { // "Defaults to True."
					status = corev1.ConditionTrue
				}
				if pattern.Type == condition.Type && status == condition.Status {
					return &failurepolicy.Match{Condition: condition.Type}
				}
			}
		}
		return nil
	}
	if rule.Matcher != nil {
		if detail, ok := rule.Matcher(pod); ok {
			return &failurepolicy.Match{Detail: detail}
		}
	}
	return nil
}

func slowExitCode(r batchv1.PodFailurePolicyOnExitCodesRequirement, status corev1.ContainerStatus) bool {
	if status.State.Terminated == nil {
		return false
	}
	// "When null, the rule applies to all containers."
	if r.ContainerName != nil && *r.ContainerName != status.Name {
		return false
	}
	// "Containers completed with success (exit code 0) are excluded from the
	// requirement check."
	if status.State.Terminated.ExitCode == 0 {
		return false
	}
	isIn := slices.Contains(r.Values, status.State.Terminated.ExitCode)
	switch r.Operator {
	case "In":
		return isIn
	case "NotIn":
		return !isIn
	}
	// "Clients should react to an unknown operator by assuming the requirement is
	// not satisfied."
	return false
}

// chooser returns a number from 0 to n-1. Random tests and fuzzing each provide one.
type chooser func(n int) int

func pick[T any](choose chooser, from ...T) T { return from[choose(len(from))] }

func several[T any](choose chooser, most int, one func() T) []T {
	var list []T
	for range choose(most + 1) {
		list = append(list, one())
	}
	return list
}

func anyCode(choose chooser) int32 {
	return pick[int32](choose, 0, 1, 2, 3, 42, 137, 255, -1, -1073741510)
}

func anyStatus(choose chooser) corev1.ConditionStatus {
	return pick(choose, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, "", "Maybe")
}

func anyConditionType(choose chooser) corev1.PodConditionType {
	return pick(choose, corev1.DisruptionTarget, corev1.DisruptionTarget, corev1.PodReady, "example.com/ConfigIssue", "")
}

func anySpec(choose chooser) *failurepolicy.Spec {
	s := &failurepolicy.Spec{}
	for i := range choose(5) {
		r := failurepolicy.Rule{
			Name: pick(choose, "", "", fmt.Sprint(i), fmt.Sprint(i+1), "OOM", "Zoom"),
			Action: pick(choose, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex,
				batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount, "", "FailNamespace"),
		}
		what := choose(8) // each bit is a requirement
		if what&1 != 0 {
			r.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: pick(choose, nil, new("main"), new("init"), new("")),
				Operator:      pick(choose, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn, "", "Above"),
				Values:        several(choose, 4, func() int32 { return anyCode(choose) }),
			}
		}
		if what&2 != 0 {
			r.OnPodConditions = several(choose, 3, func() batchv1.PodFailurePolicyOnPodConditionsPattern {
				return batchv1.PodFailurePolicyOnPodConditionsPattern{Type: anyConditionType(choose), Status: anyStatus(choose)}
			})
		}
		if what&4 != 0 {
			r.Matcher = pick(choose, onReason("Evicted", "NodeLost"), onMessage("CUDA"),
				func(*corev1.Pod) (string, bool) { return "nothing", false })
		}
		s.Rules = append(s.Rules, r)
	}
	return s
}

func anyPod(choose chooser) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = pick(choose, "ns", ""), pick(choose, "pod", "")
	statuses := func() []corev1.ContainerStatus {
		return several(choose, 3, func() corev1.ContainerStatus {
			s := corev1.ContainerStatus{Name: pick(choose, "main", "init", "sidecar", "")}
			switch choose(5) {
			case 0:
				s.State.Running = &corev1.ContainerStateRunning{}
			case 1:
			default:
				s.State.Terminated = &corev1.ContainerStateTerminated{
					ExitCode: anyCode(choose), Message: pick(choose, "", "CUDA error", "panic"),
				}
			}
			return s
		})
	}
	pod.Status = corev1.PodStatus{
		Phase:                 pick(choose, corev1.PodFailed, corev1.PodRunning, corev1.PodPending),
		Reason:                pick(choose, "", "Evicted", "NodeLost", "Else"),
		ContainerStatuses:     statuses(),
		InitContainerStatuses: statuses(),
		Conditions: several(choose, 3, func() corev1.PodCondition {
			return corev1.PodCondition{Type: anyConditionType(choose), Status: anyStatus(choose)}
		}),
	}
	return pod
}
