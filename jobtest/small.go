package jobtest

import (
	"math"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// LivelyJobs generates Jobs that the API server accepts, as users send them. A fifth are
// drawn as by [Jobs], the others by [SmallSpec].
func LivelyJobs() *rapid.Generator[*batchv1.Job] { return generator(drawLively) }

func drawLively(d Dice) *batchv1.Job {
	job := drawJob(d, Mix{Undefaulted: 30})
	job.Spec.Selector, job.Spec.Template.Labels, job.ResourceVersion = nil, nil, ""
	if !d.Chance(20, "any Job") {
		job.Spec = SmallSpec(d, job.Spec.Template, 6)
	}
	return job
}

// SmallSpec draws the spec of a Job with a pod template. It has at most the given number of
// completions, and fewer pods at a time, or one. It uses the features that make the lifetime
// of a Job long. The API server accepts it.
func SmallSpec(d Dice, template corev1.PodTemplateSpec, most int) batchv1.JobSpec {
	spec := batchv1.JobSpec{Template: template}
	spec.Parallelism = new(int32(1 + d.Among(max(1, most-1), "parallelism")))
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	n := int32(1 + d.Among(most, "completions"))
	if d.Chance(65, "indexed") {
		spec.CompletionMode, spec.Completions = new(batchv1.IndexedCompletion), &n
		if d.Chance(35, "elastic") {
			spec.Parallelism = new(n)
		}
		if d.Chance(55, "per index") {
			spec.BackoffLimitPerIndex = new(pick[int32](d, "backoffLimitPerIndex", 1, 0, 0, 2, 3))
			if d.Chance(40, "has maxFailedIndexes") {
				spec.MaxFailedIndexes = new(min(n, int32(d.Among(3, "maxFailedIndexes"))))
			}
		}
		if d.Chance(30, "success policy") {
			rule := batchv1.SuccessPolicyRule{SucceededCount: new(int32(1 + d.Among(int(n), "succeededCount")))}
			if d.Chance(50, "named index") {
				index := strconv.Itoa(d.Among(int(n), "succeededIndexes"))
				rule = batchv1.SuccessPolicyRule{SucceededIndexes: &index}
			}
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
		}
	} else if d.Chance(75, "has completions") {
		spec.Completions = &n
	}
	if d.Chance(50, "has backoffLimit") {
		spec.BackoffLimit = new(pick[int32](d, "backoffLimit", 2, 0, 1, 3, 3, math.MaxInt32))
	}
	if d.Chance(42, "failure policy") {
		spec.PodFailurePolicy = drawFailurePolicy(d, spec.BackoffLimitPerIndex != nil)
	} else {
		if d.Chance(50, "replacement") {
			spec.PodReplacementPolicy = new(pick(d, "policy", batchv1.Failed, batchv1.TerminatingOrFailed))
		}
		if d.Chance(25, "OnFailure") {
			spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}
	}
	if d.Chance(15, "deadline") {
		spec.ActiveDeadlineSeconds = new(pick[int64](d, "deadline seconds", 600, 5, 30, 100, 3600))
	}
	spec.Suspend = new(d.Chance(10, "suspend"))
	return spec
}
