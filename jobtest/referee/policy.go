package referee

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Action returns the action of the first rule that matches a failed pod; Count if none
// does. It does not use package failurepolicy, because the referee must not trust the code
// under test.
func Action(job *batchv1.Job, pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	if job.Spec.PodFailurePolicy != nil {
		for _, rule := range job.Spec.PodFailurePolicy.Rules {
			if meetsConditions(rule.OnPodConditions, pod) || meetsCodes(rule.OnExitCodes, pod) {
				return rule.Action
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

func meetsConditions(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, pod *corev1.Pod) bool {
	for _, p := range patterns {
		for _, c := range pod.Status.Conditions {
			if c.Type == p.Type && c.Status == p.Status {
				return true
			}
		}
	}
	return false
}

func meetsCodes(r *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.Pod) bool {
	if r == nil {
		return false
	}
	for _, c := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		ended := c.State.Terminated
		if r.ContainerName != nil && *r.ContainerName != c.Name || ended == nil || ended.ExitCode == 0 {
			continue
		}
		if slices.Contains(r.Values, ended.ExitCode) == (r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return true
		}
	}
	return false
}
