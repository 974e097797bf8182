package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// JobTemplate returns what the API server would reject in the template of a CronJob, whose path is spec.jobTemplate.
// What depends on the name, the namespace or the UID of a Job, such as the generated selector, is not checked. old is
// the template that it replaces; nil in a new CronJob. The API server sets the defaults of defaulting.Job, except for
// completions.
func JobTemplate(template, old *batchv1.JobTemplateSpec, path *field.Path, opts ...Option) field.ErrorList {
	job, was, r := jobOf(template), jobOf(old), releaseOf(opts)
	errs := r.reported(r.check(templateRules, job, was), job, was)
	for _, err := range errs {
		err.Field = path.Child(err.Field).String()
	}
	return errs
}

// jobOf returns the Job of a template, without a name. A new template replaces an empty one.
func jobOf(template *batchv1.JobTemplateSpec) *batchv1.Job {
	if template == nil {
		return &batchv1.Job{}
	}
	return &batchv1.Job{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

// templateRules lists the rules for a template, in the order in which they are reported.
var templateRules = []jobRule{
	{name: "spec", check: specByItself},
	{name: "delegation annotations come in pairs", check: delegationOfJob, from: 38},
	{name: "the selector is generated", check: noSelector},
}

// noSelector rejects a selector in a template.
func noSelector(job, _ *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	if job.Spec.Selector != nil {
		errs = append(errs, field.Invalid(specPath.Child("selector"), job.Spec.Selector,
			"`selector` will be auto-generated"))
	}
	if deref(job.Spec.ManualSelector, false) {
		errs = append(errs, field.NotSupported(specPath.Child("manualSelector"), *job.Spec.ManualSelector,
			[]string{"nil", "false"}))
	}
	return errs
}
