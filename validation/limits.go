package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of Indexed Jobs. They keep Jobs small enough to store (KEP-3850, "The Job object too
// big").
const (
	// MaxIndexedParallelism and MaxFailedIndexes are the largest parallelism and
	// maxFailedIndexes.
	MaxIndexedParallelism = 100_000
	MaxFailedIndexes      = 100_000

	// HighCompletions is the number of completions up to which every index may be listed
	// in the status. A Job with backoffLimitPerIndex and more completions must set
	// maxFailedIndexes. HighCompletionsFailedIndexes then limits maxFailedIndexes, and
	// HighCompletionsParallelism limits parallelism.
	HighCompletions              = 100_000
	HighCompletionsParallelism   = 10_000
	HighCompletionsFailedIndexes = 10_000
)

// Limits of lists, in elements, and of texts, in bytes.
const (
	MaxManagedByLength        = 63        // of managedBy
	MaxPodFailurePolicyRules  = 20        // of podFailurePolicy.rules
	MaxExitCodes              = 255       // of onExitCodes.values in a rule
	MaxPodConditions          = 20        // of onPodConditions in a rule
	MaxSuccessPolicyRules     = 20        // of successPolicy.rules
	MaxSucceededIndexesLength = 64 * 1024 // of succeededIndexes in a rule
)

// limitRule is a limit of Indexed Jobs. err returns the error for a spec that exceeds it.
type limitRule struct {
	exceeds func(*batchv1.JobSpec) bool
	err     func(*batchv1.JobSpec) *field.Error
}

// indexedLimitRules lists the limits in the order in which they are reported.
var indexedLimitRules = []limitRule{
	{
		exceeds: func(s *batchv1.JobSpec) bool { return s.Completions == nil },
		err: func(*batchv1.JobSpec) *field.Error {
			return field.Required(specPath.Child("completions"),
				fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion))
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool { return deref(s.Parallelism, 0) > MaxIndexedParallelism },
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("parallelism", s.Parallelism, "%d when completion mode is %s", MaxIndexedParallelism,
				batchv1.IndexedCompletion)
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
		exceeds: func(s *batchv1.JobSpec) bool { return deref(s.MaxFailedIndexes, 0) > MaxFailedIndexes },
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("maxFailedIndexes", s.MaxFailedIndexes, "%d", MaxFailedIndexes)
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool { return manyWithOwnLimits(s) && s.MaxFailedIndexes == nil },
		err: func(*batchv1.JobSpec) *field.Error {
			return field.Required(specPath.Child("maxFailedIndexes"),
				fmt.Sprintf("must be specified when completions is above %d", HighCompletions))
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool {
			return manyWithOwnLimits(s) && deref(s.Parallelism, 0) > HighCompletionsParallelism
		},
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("parallelism", s.Parallelism, manyDetail, HighCompletionsParallelism, HighCompletions)
		},
	},
	{
		exceeds: func(s *batchv1.JobSpec) bool {
			return manyWithOwnLimits(s) && deref(s.MaxFailedIndexes, 0) > HighCompletionsFailedIndexes
		},
		err: func(s *batchv1.JobSpec) *field.Error {
			return atMost("maxFailedIndexes", s.MaxFailedIndexes, manyDetail, HighCompletionsFailedIndexes,
				HighCompletions)
		},
	},
}

const manyDetail = "%d when completions are above %d and used with backoff limit per index"

// manyWithOwnLimits reports whether the stricter limits apply: the Job has many indexes, and
// each index has its own backoff limit.
func manyWithOwnLimits(s *batchv1.JobSpec) bool {
	return deref(s.Completions, 0) > HighCompletions && s.BackoffLimitPerIndex != nil
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
