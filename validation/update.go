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
// With [Release136] it validates the new spec twice, as 1.36 does: once as a Job and once as an
// update.
func Update(job, old *batchv1.Job, opts ...Option) field.ErrorList {
	old = orEmpty(old)
	job = updated(job, old)
	release, rules := releaseOf(opts), rulesForUpdateOf(old)
	errs := commonFields(job, old)
	if release.is136 {
		errs = append(errs, wholeJob(job, rules)...)
	}
	errs = append(errs, changedMetadata(job, old)...)
	errs = append(errs, specAndSelector(&job.Spec, rules)...)
	for _, rule := range updateRules {
		errs = append(errs, rule.check(job, old)...)
	}
	if !release.is136 {
		errs = append(errs, podHostname(job)...)
	}
	return release.reported(errs)
}

// updateRule compares the new Job with the old one.
type updateRule struct {
	name  string
	check func(job, old *batchv1.Job) field.ErrorList
}

// updateRules lists the rules for a change of the spec, in the order in which they are
// reported. Fields without a rule may change freely: parallelism,
// activeDeadlineSeconds, backoffLimit, maxFailedIndexes, suspend,
// ttlSecondsAfterFinished, podReplacementPolicy and manualSelector.
var updateRules = []updateRule{
	{"completions", changedCompletions},
	fixed("selector", func(s *batchv1.JobSpec) any { return s.Selector }),
	{"template", changedTemplate},
	fixed("completionMode", func(s *batchv1.JobSpec) any { return s.CompletionMode }),
	fixed("podFailurePolicy", func(s *batchv1.JobSpec) any { return s.PodFailurePolicy }),
	fixed("backoffLimitPerIndex", func(s *batchv1.JobSpec) any { return s.BackoffLimitPerIndex }),
	fixed("managedBy", func(s *batchv1.JobSpec) any { return s.ManagedBy }),
	fixed("successPolicy", func(s *batchv1.JobSpec) any { return s.SuccessPolicy }),
}

// fixed is the rule that a field of the spec does not change.
func fixed(name string, value func(*batchv1.JobSpec) any) updateRule {
	return updateRule{name, func(job, old *batchv1.Job) field.ErrorList {
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
	if now == nil || samePointee(now, was) || *now == deref(job.Spec.Parallelism, defaultParallelism) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("completions"), now,
		"can only be modified in tandem with "+specPath.Child("parallelism").String())}
}
