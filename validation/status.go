package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StatusUpdate returns what the API server would refuse about replacing the
// status of old with that of job. As there, the spec is read from old, whatever
// job says, and most rules look only when something that they concern has
// changed, because a spec may change under a status that was right.
func StatusUpdate(job, old *batchv1.Job) field.ErrorList {
	job, old = orEmpty(job), orEmpty(old)
	errs := changedMetadata(job, old)
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
	return errs
}

// Status returns everything that is wrong with the status of a Job by itself,
// with every rule on. It is stricter than any single update: what [StatusUpdate]
// lets pass because it had been wrong before, Status reports. Rules that compare
// two statuses do not apply.
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

// view is a status with what the rules read out of its conditions, in the light
// of a spec.
type view struct {
	*batchv1.JobStatus
	spec *batchv1.JobSpec

	complete, failed, successCriteriaMet, failureTarget bool
	suspended, resumed                                  bool // the condition is True; is False
	finished                                            bool // complete or failed
}

func viewOf(status *batchv1.JobStatus, spec *batchv1.JobSpec) view {
	v := view{JobStatus: status, spec: spec}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		isTrue := c.Status == corev1.ConditionTrue
		switch c.Type {
		case batchv1.JobComplete:
			v.complete = v.complete || isTrue
		case batchv1.JobFailed:
			v.failed = v.failed || isTrue
		case batchv1.JobSuccessCriteriaMet:
			v.successCriteriaMet = v.successCriteriaMet || isTrue
		case batchv1.JobFailureTarget:
			v.failureTarget = v.failureTarget || isTrue
		case batchv1.JobSuspended:
			v.suspended = v.suspended || isTrue
			v.resumed = v.resumed || c.Status == corev1.ConditionFalse
		}
	}
	v.finished = v.complete || v.failed
	return v
}
