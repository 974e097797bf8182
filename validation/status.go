package validation

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StatusUpdate returns what the API server would reject when the status of job replaces
// that of old. Like the API server it reads the spec from old, and most rules apply only
// if a field that they depend on has changed, because a spec may change under a valid
// status.
func StatusUpdate(job, old *batchv1.Job, opts ...Option) field.ErrorList {
	old = orEmpty(old)
	job = updated(job, old)
	r := releaseOf(opts)
	errs := append(commonFields(job, old), changedMetadata(job, old)...)
	c := &change{now: viewOf(&job.Status, &old.Spec), was: viewOf(&old.Status, &old.Spec)}
	for _, rule := range statusRules {
		if rule.when != nil && !rule.when(c) {
			continue
		}
		if rule.state != nil {
			errs = append(errs, rule.state(&c.now)...)
		} else {
			errs = append(errs, rule.step(c)...)
		}
	}
	return r.reported(errs, job, old)
}

// Status returns everything that is wrong with the status of a Job by itself, with all
// rules applied. It is stricter than any single update: it also reports faults that
// [StatusUpdate] accepts because they existed before. It does not apply rules that compare
// two statuses.
func Status(job *batchv1.Job) field.ErrorList {
	job = orEmpty(job)
	v := viewOf(&job.Status, &job.Spec)
	var errs field.ErrorList
	for _, rule := range statusRules {
		if rule.state != nil {
			errs = append(errs, rule.state(&v)...)
		}
	}
	return errs
}

// view is a status with its spec, and with the conditions in the form that the rules need.
type view struct {
	*batchv1.JobStatus
	spec *batchv1.JobSpec

	complete, failed, successCriteriaMet, failureTarget bool
	suspended, resumed                                  bool // the condition Suspended is True; is False
	finished                                            bool // complete or failed
}

func viewOf(status *batchv1.JobStatus, spec *batchv1.JobSpec) view {
	has := func(kind batchv1.JobConditionType, value corev1.ConditionStatus) bool {
		return slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == value
		})
	}
	v := view{JobStatus: status, spec: spec,
		complete:           has(batchv1.JobComplete, corev1.ConditionTrue),
		failed:             has(batchv1.JobFailed, corev1.ConditionTrue),
		successCriteriaMet: has(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue),
		failureTarget:      has(batchv1.JobFailureTarget, corev1.ConditionTrue),
		suspended:          has(batchv1.JobSuspended, corev1.ConditionTrue),
		resumed:            has(batchv1.JobSuspended, corev1.ConditionFalse),
	}
	v.finished = v.complete || v.failed
	return v
}
