package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits that keep a Job small enough to store (KEP-3850, "The Job object too
// big"). Up to highCompletions every index may be listed in the status; above,
// few may run or have failed at a time.
const (
	maxIndexedParallelism = 100_000
	maxFailedIndexes      = 100_000

	highCompletions            = 100_000
	highCompletionsParallelism = 10_000
	highCompletionsFailures    = 10_000
)

// Limits on the length of lists and strings.
const (
	maxManagedByLength        = 63
	maxFailureRules           = 20
	maxExitCodes              = 255
	maxPodConditions          = 20
	maxSuccessRules           = 20
	maxSucceededIndexesLength = 64 * 1024
)

// limitRule is a limit of Indexed Jobs. When exceeds reports true, err says so.
type limitRule struct {
	exceeds func(*batchv1.JobSpec) bool
	err     func(*batchv1.JobSpec) *field.Error
}

// indexedLimitRules are the limits in the order in which they are reported.
var indexedLimitRules = []limitRule{
	{
		exceeds: func(s *batchv1.JobSpec) bool { return s.Completions == nil },
		err: func(*batchv1.JobSpec) *field.Error {
			return field.Required(specPath.Child("completions"), fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion))
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool { return deref(s.Parallelism, 0) > maxIndexedParallelism },
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("parallelism", s.Parallelism, "%d when completion mode is %s", maxIndexedParallelism, batchv1.IndexedCompletion)
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool {
			return s.Completions != nil && s.MaxFailedIndexes != nil && *s.MaxFailedIndexes > *s.Completions
		},
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("maxFailedIndexes", s.MaxFailedIndexes, "completions")
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool { return deref(s.MaxFailedIndexes, 0) > maxFailedIndexes },
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("maxFailedIndexes", s.MaxFailedIndexes, "%d", maxFailedIndexes)
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool { return manyWithOwnLimits(s) && s.MaxFailedIndexes == nil },
		err: func(*batchv1.JobSpec) *field.Error {
			return field.Required(specPath.Child("maxFailedIndexes"), fmt.Sprintf("must be specified when completions is above %d", highCompletions))
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool {
			return manyWithOwnLimits(s) && deref(s.Parallelism, 0) > highCompletionsParallelism
		},
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("parallelism", s.Parallelism, manyDetail, highCompletionsParallelism, highCompletions)
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool {
			return manyWithOwnLimits(s) && deref(s.MaxFailedIndexes, 0) > highCompletionsFailures
		},
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("maxFailedIndexes", s.MaxFailedIndexes, manyDetail, highCompletionsFailures, highCompletions)
		},
	},
}

const manyDetail = "%d when completions are above %d and used with backoff limit per index"

// manyWithOwnLimits reports whether the stricter limits hold: there are many
// indexes, and each may fail for good.
func manyWithOwnLimits(s *batchv1.JobSpec) bool {
	return deref(s.Completions, 0) > highCompletions && s.BackoffLimitPerIndex != nil
}

func atMost(name string, value *int32, bound string, args ...any) *field.Error {
	return field.Invalid(specPath.Child(name), *value, "must be less than or equal to "+fmt.Sprintf(bound, args...))
}

func indexedLimits(spec *batchv1.JobSpec) field.ErrorList {
	if !indexed(spec) {
		return nil
	}
	var errs field.ErrorList
	for _, rule := range indexedLimitRules {
		if rule.exceeds(spec) {
			errs = append(errs, rule.err(spec))
		}
	}
	return errs
}
