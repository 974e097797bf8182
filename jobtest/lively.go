package jobtest

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// LivelyJobs generates Jobs that the API server accepts, as users send them. A fifth are
// drawn as by [Jobs]. The others use more of the features that make lifetimes long.
func LivelyJobs() *rapid.Generator[*batchv1.Job] { return rapid.Custom(drawLively) }

func drawLively(t *rapid.T) *batchv1.Job {
	job := drawJob(t, Mix{Undefaulted: 30})
	job.Spec.Selector, job.Spec.Template.Labels, job.ResourceVersion = nil, nil, ""
	if chance(t, 20, "any Job") {
		return job
	}
	spec := &job.Spec
	*spec = batchv1.JobSpec{Template: spec.Template}
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Parallelism = ptr(pick[int32](t, "parallelism", 2, 1, 3, 4, 5))
	if chance(t, 70, "indexed") {
		drawLivelyIndexed(t, spec)
	} else if chance(t, 75, "has completions") {
		spec.Completions = ptr(pick[int32](t, "completions", 2, 1, 3, 4, 6))
	}
	if chance(t, 40, "backoffLimit") {
		spec.BackoffLimit = ptr(pick[int32](t, "limit", 2, 0, 1, 4, 4, math.MaxInt32, math.MaxInt32))
	}
	if chance(t, 35, "replacement") {
		spec.PodReplacementPolicy = ptr(batchv1.Failed)
	}
	if chance(t, 40, "failure policy") {
		spec.PodFailurePolicy, spec.PodReplacementPolicy = drawLivelyPolicy(t, spec.BackoffLimitPerIndex != nil), nil
	} else if spec.BackoffLimitPerIndex == nil && chance(t, 25, "OnFailure") {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if chance(t, 10, "deadline") {
		spec.ActiveDeadlineSeconds = ptr(pick[int64](t, "seconds", 600, 30, 3600))
	}
	spec.Suspend = ptr(chance(t, 10, "suspended"))
	return job
}

func drawLivelyIndexed(t *rapid.T, spec *batchv1.JobSpec) {
	n := pick[int32](t, "completions", 3, 1, 2, 4, 5, 6)
	spec.CompletionMode, spec.Completions = ptr(batchv1.IndexedCompletion), &n
	if chance(t, 40, "elastic") {
		spec.Parallelism = ptr(n)
	}
	if chance(t, 65, "per index") {
		spec.BackoffLimitPerIndex = ptr(pick[int32](t, "backoffLimitPerIndex", 1, 0, 2, 3))
		if chance(t, 40, "maxFailedIndexes") {
			spec.MaxFailedIndexes = ptr(min(n, int32(among(t, 3, "max"))))
		}
	}
	if chance(t, 30, "success policy") {
		rule := batchv1.SuccessPolicyRule{SucceededCount: ptr(int32(1 + among(t, int(n), "succeededCount")))}
		if chance(t, 50, "named indexes") {
			rule = batchv1.SuccessPolicyRule{SucceededIndexes: ptr(pick(t, "succeededIndexes", "0", "0"))}
		}
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
	}
}

func drawLivelyPolicy(t *rapid.T, perIndex bool) *batchv1.PodFailurePolicy {
	actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore,
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
	if perIndex {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
	}
	p := &batchv1.PodFailurePolicy{}
	if chance(t, 60, "on disruption") {
		p.Rules = append(p.Rules, batchv1.PodFailurePolicyRule{
			Action: pick(t, "action", actions...),
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget,
				Status: corev1.ConditionTrue}},
		})
	}
	p.Rules = append(p.Rules, batchv1.PodFailurePolicyRule{
		Action: pick(t, "action", actions...),
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn,
			Values:   pick(t, "codes", []int32{42}, []int32{1, 42}, []int32{137}),
		},
	})
	return p
}
