package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Update returns what the API server would reject when job replaces old. It does not read the status of
// job, because the API server keeps the old status, nor the generation and the times of creation and deletion, which
// it keeps too. A job without a UID keeps that of old.
//
// As 1.36 it validates the new spec twice: once as a Job and once as an update.
func Update(job, old *batchv1.Job, opts ...Option) field.ErrorList {
	old = orEmpty(old)
	job = updated(job, old)
	r := releaseOf(opts)
	return r.reported(r.check(updateRules, job, old), job, old)
}

// updateRules lists the rules for an update, in the order in which they are reported. Fields of the spec
// without a rule of their own may change freely: parallelism, activeDeadlineSeconds, backoffLimit,
// maxFailedIndexes, suspend, ttlSecondsAfterFinished, podReplacementPolicy and manualSelector.
var updateRules = []jobRule{
	{name: "fields of objects of all kinds", check: commonFields},
	{name: "the new Job by itself", check: byItself, until: 36},
	{name: "metadata", check: changedMetadata},
	{name: "spec", check: specAndSelector},
	{name: "completions", check: changedCompletions},
	fixed("selector", func(s *batchv1.JobSpec) any { return s.Selector }),
	{name: "template", check: changedTemplate},
	fixed("completionMode", func(s *batchv1.JobSpec) any { return s.CompletionMode }),
	fixed("podFailurePolicy", func(s *batchv1.JobSpec) any { return s.PodFailurePolicy }),
	fixed("backoffLimitPerIndex", func(s *batchv1.JobSpec) any { return s.BackoffLimitPerIndex }),
	fixed("managedBy", func(s *batchv1.JobSpec) any { return s.ManagedBy }),
	fixed("successPolicy", func(s *batchv1.JobSpec) any { return s.SuccessPolicy }),
	{name: "delegation annotations come in pairs", check: delegationOfJob, from: 38},
	{name: "host names of the pods", check: podHostname, from: 37},
}

// byItself applies the rules for a new Job, as 1.36 does in an update too.
func byItself(job, old *batchv1.Job) field.ErrorList {
	return release(36).check(creationRules, job, old)
}

// fixed is the rule that a field of the spec does not change.
func fixed(name string, value func(*batchv1.JobSpec) any) jobRule {
	return jobRule{name: name, check: func(job, old *batchv1.Job) field.ErrorList {
		return immutable(name, value(&job.Spec), value(&old.Spec))
	}}
}

func immutable(name string, now, was any) field.ErrorList {
	return apivalidation.ValidateImmutableField(now, was, specPath.Child(name))
}

// changedCompletions forbids a change of completions, except in an elastic Indexed Job:
// there completions and parallelism may change together, to the same value.
func changedCompletions(job, old *batchv1.Job) field.ErrorList {
	now, was := job.Spec.Completions, old.Spec.Completions
	if !indexed(&job.Spec) {
		return immutable("completions", now, was)
	}
	// The check of the spec reports missing completions of an Indexed Job.
	if now == nil || samePointee(now, was) || *now == deref(job.Spec.Parallelism, 1) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("completions"), now,
		"can only be modified in tandem with "+specPath.Child("parallelism").String())}
}
