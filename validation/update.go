package validation

import (
	"cmp"

	batchv1 "k8s.io/api/batch/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Update returns what the API server would reject when job replaces old. Of job it does not read
// what the API server takes from old: the status, the UID if job has none, and the times of the creation
// and deletion.
//
// With [Release136] it validates the new spec twice, as 1.36 does: once as a Job and once as an
// update.
func Update(job, old *batchv1.Job, opts ...Option) field.ErrorList {
	job, old = received(orEmpty(job), orEmpty(old)), orEmpty(old)
	release, rules := releaseOf(opts), rulesForUpdateOf(old)
	errs := commonFields(job, old)
	if release.wholeOnUpdate {
		errs = append(errs, wholeJob(job, rules)...)
	}
	errs = append(errs, changedMetadata(job, old)...)
	errs = append(errs, specAndSelector(&job.Spec, rules)...)
	for _, rule := range updateRules {
		errs = append(errs, rule.check(job, old)...)
	}
	if !release.wholeOnUpdate {
		errs = append(errs, podHostname(job)...)
	}
	return release.reported(errs)
}

// received returns a shallow copy of the new Job with the metadata that the API server takes from the
// old one.
func received(job, old *batchv1.Job) *batchv1.Job {
	next := *job
	next.UID = cmp.Or(next.UID, old.UID)
	if !old.CreationTimestamp.IsZero() {
		next.CreationTimestamp = old.CreationTimestamp
	}
	if !old.DeletionTimestamp.IsZero() {
		next.DeletionTimestamp = old.DeletionTimestamp
	}
	if old.DeletionGracePeriodSeconds != nil && next.DeletionGracePeriodSeconds == nil {
		next.DeletionGracePeriodSeconds = old.DeletionGracePeriodSeconds
	}
	return &next
}

// updateRule compares the new Job with the old one.
type updateRule struct {
	name  string
	check func(job, old *batchv1.Job) field.ErrorList
}

// updateRules are the rules for a change of the spec, in the order in which they are
// reported. Fields without a rule may change freely: parallelism,
// activeDeadlineSeconds, backoffLimit, maxFailedIndexes, suspend,
// ttlSecondsAfterFinished, podReplacementPolicy and manualSelector.
var updateRules = []updateRule{
	{"completions", changedCompletions},
	{"selector", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("selector", job.Spec.Selector, old.Spec.Selector)
	}},
	{"template", changedTemplate},
	{"completionMode", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("completionMode", job.Spec.CompletionMode, old.Spec.CompletionMode)
	}},
	{"podFailurePolicy", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("podFailurePolicy", job.Spec.PodFailurePolicy, old.Spec.PodFailurePolicy)
	}},
	{"backoffLimitPerIndex", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("backoffLimitPerIndex", job.Spec.BackoffLimitPerIndex, old.Spec.BackoffLimitPerIndex)
	}},
	{"managedBy", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("managedBy", job.Spec.ManagedBy, old.Spec.ManagedBy)
	}},
	{"successPolicy", func(job, old *batchv1.Job) field.ErrorList {
		return immutable("successPolicy", job.Spec.SuccessPolicy, old.Spec.SuccessPolicy)
	}},
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
