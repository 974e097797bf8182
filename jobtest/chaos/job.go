package chaos

import (
	"fmt"
	"math/rand/v2"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Job returns a small Job, with at most 4 completions and a parallelism of at most 3, that
// uses some features of Jobs. The API server accepts it.
func Job(seed uint64) *batchv1.Job {
	d := dice{rand.New(rand.NewPCG(seed, 1))}
	for {
		job := d.job()
		if _, err := cluster.New(job, jobtest.Noon()); err == nil {
			return job
		}
	}
}

// dice make the random choices.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

func ptr[T any](v T) *T { return &v }

func (d dice) job() *batchv1.Job {
	job := &batchv1.Job{}
	job.Name = "job"
	spec := &job.Spec
	spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "image"}}}
	spec.Parallelism = ptr(int32(1 + d.IntN(3)))
	switch {
	case d.chance(60):
		spec.CompletionMode = ptr(batchv1.IndexedCompletion)
		spec.Completions = ptr(int32(1 + d.IntN(4)))
		if d.chance(30) {
			spec.Completions = spec.Parallelism
		}
	case d.chance(75):
		spec.Completions = ptr(int32(1 + d.IntN(4)))
	}
	if d.chance(60) {
		spec.BackoffLimit = ptr(int32(d.IntN(4)))
	}
	d.indexes(spec)
	d.policies(spec)
	if d.chance(10) {
		spec.Suspend = ptr(true)
	}
	if d.chance(20) {
		spec.ActiveDeadlineSeconds = ptr(one[int64](d, 5, 30, 100, 3600))
	}
	return job
}

func (d dice) indexes(spec *batchv1.JobSpec) {
	if spec.CompletionMode == nil {
		return
	}
	if d.chance(50) {
		spec.BackoffLimitPerIndex = ptr(int32(d.IntN(3)))
		if d.chance(40) {
			spec.MaxFailedIndexes = ptr(int32(d.IntN(int(*spec.Completions) + 1)))
		}
	}
	if d.chance(30) {
		rule := batchv1.SuccessPolicyRule{SucceededIndexes: ptr(fmt.Sprint(d.IntN(int(*spec.Completions))))}
		if d.chance(50) {
			rule = batchv1.SuccessPolicyRule{SucceededCount: ptr(int32(1 + d.IntN(int(*spec.Completions))))}
		}
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
	}
}

func (d dice) policies(spec *batchv1.JobSpec) {
	switch {
	case d.chance(45):
		spec.PodFailurePolicy = d.failurePolicy(spec.BackoffLimitPerIndex != nil)
	case d.chance(60):
		spec.PodReplacementPolicy = ptr(one(d, batchv1.Failed, batchv1.TerminatingOrFailed))
	}
	if spec.PodFailurePolicy == nil && d.chance(25) {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
}

func (d dice) failurePolicy(perIndex bool) *batchv1.PodFailurePolicy {
	p := &batchv1.PodFailurePolicy{}
	for range 1 + d.IntN(2) {
		rule := batchv1.PodFailurePolicyRule{Action: one(d, batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob)}
		if perIndex && d.chance(40) {
			rule.Action = batchv1.PodFailurePolicyActionFailIndex
		}
		if d.chance(60) {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: one(d, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values:   one(d, []int32{42}, []int32{1}, []int32{1, 42}),
			}
		} else {
			rule.OnPodConditions =
				[]batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget,
					Status: corev1.ConditionTrue}}
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}
