package podtest

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// IndexedJob makes a Job an Indexed one with these completions.
func IndexedJob(completions int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.CompletionMode, job.Spec.Completions = PtrTo(batchv1.IndexedCompletion), &completions
	}
}

// LimitPerIndex sets the backoff limit per index.
func LimitPerIndex(limit int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.BackoffLimitPerIndex = &limit }
}

// TrueConditions adds conditions with the status True.
func TrueConditions(types ...batchv1.JobConditionType) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		for _, t := range types {
			job.Status.Conditions = append(job.Status.Conditions, Condition(t, corev1.ConditionTrue))
		}
	}
}

// UncountedLists sets the uncounted lists.
func UncountedLists(succeeded, failed []types.UID) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.UncountedTerminatedPods = Lists(succeeded, failed) }
}

// ExitRule adds a rule of the pod failure policy.
func ExitRule(action batchv1.PodFailurePolicyAction, code int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		if job.Spec.PodFailurePolicy == nil {
			job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		}
		job.Spec.PodFailurePolicy.Rules = append(job.Spec.PodFailurePolicy.Rules, batchv1.PodFailurePolicyRule{
			Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
			},
		})
	}
}
