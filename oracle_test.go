package jobfate_test

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// ignored reports whether the first rule that matches the pod is an Ignore rule. It follows the
// comment of the API: "the rules are evaluated in order; once a rule matches a Pod failure, the
// remaining rules are ignored".
func ignored(job *batchv1.Job, pod *corev1.Pod) bool {
	if job.Spec.PodFailurePolicy == nil {
		return false
	}
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		if ruleMatches(rule, pod) {
			return rule.Action == batchv1.PodFailurePolicyActionIgnore
		}
	}
	return false
}

func ruleMatches(rule batchv1.PodFailurePolicyRule, pod *corev1.Pod) bool {
	if on := rule.OnExitCodes; on != nil {
		for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
			if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 || on.ContainerName != nil && *on.ContainerName != c.Name {
				continue
			}
			if slices.Contains(on.Values, c.State.Terminated.ExitCode) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return true
			}
		}
		return false
	}
	for _, pattern := range rule.OnPodConditions {
		for _, c := range pod.Status.Conditions {
			if c.Type == pattern.Type && c.Status == pattern.Status {
				return true
			}
		}
	}
	return false
}
