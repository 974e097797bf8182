package scenario

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The final conditions of Jobs, as in observe.Want.
var (
	completed      = []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"}
	failedByPolicy = failedFor("PodFailurePolicy")
	failedByLimit  = failedFor("BackoffLimitExceeded")
)

func failedFor(reason string) []string {
	return []string{"FailureTarget/" + reason, "Failed/" + reason}
}

// regular is the spec of a NonIndexed Job whose pods all run at once.
func regular(pods int32) batchv1.JobSpec {
	return batchv1.JobSpec{Completions: &pods, Parallelism: &pods}
}

// indexed is the spec of an Indexed Job, all of whose indexes run at once.
func indexed(indexes int32) batchv1.JobSpec {
	spec := regular(indexes)
	spec.CompletionMode = new(batchv1.IndexedCompletion)
	return spec
}

// failurePolicy is a pod failure policy with these rules.
func failurePolicy(rules ...batchv1.PodFailurePolicyRule) *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: rules}
}

// onExit is a rule for some exit codes.
func onExit(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
	}}
}

// onCondition is a rule for pods that have a condition.
func onCondition(action batchv1.PodFailurePolicyAction, condition corev1.PodConditionType) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
		{Type: condition, Status: corev1.ConditionTrue},
	}}
}

// message returns the message of a condition of a Job, or nothing.
func message(job *batchv1.Job, condition batchv1.JobConditionType) string {
	for _, c := range job.Status.Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	return ""
}

// ifIndexed returns the completed indexes of an Indexed Job; nothing for other Jobs.
func ifIndexed(spec batchv1.JobSpec, indexes string) string {
	if spec.CompletionMode == nil {
		return ""
	}
	return indexes
}
