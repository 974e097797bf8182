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

// indexedLimits checks the limits of Indexed Jobs, in the order in which they are reported.
func indexedLimits(spec *batchv1.JobSpec) field.ErrorList {
	if !indexed(spec) {
		return nil
	}
	var errs field.ErrorList
	parallelism, maxFailed := deref(spec.Parallelism, 0), deref(spec.MaxFailedIndexes, 0)
	if spec.Completions == nil {
		errs = append(errs, field.Required(specPath.Child("completions"),
			fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion)))
	}
	if parallelism > MaxIndexedParallelism {
		errs = append(errs, atMost("parallelism", parallelism, "%d when completion mode is %s", MaxIndexedParallelism,
			batchv1.IndexedCompletion))
	}
	if spec.Completions != nil && spec.MaxFailedIndexes != nil && maxFailed > *spec.Completions {
		errs = append(errs, atMost("maxFailedIndexes", maxFailed, "completions"))
	}
	if maxFailed > MaxFailedIndexes {
		errs = append(errs, atMost("maxFailedIndexes", maxFailed, "%d", MaxFailedIndexes))
	}
	if deref(spec.Completions, 0) <= HighCompletions || spec.BackoffLimitPerIndex == nil {
		return errs
	}
	// The stricter limits of Jobs with many indexes that each have their own backoff limit.
	const detail = "%d when completions are above %d and used with backoff limit per index"
	if spec.MaxFailedIndexes == nil {
		errs = append(errs, field.Required(specPath.Child("maxFailedIndexes"),
			fmt.Sprintf("must be specified when completions is above %d", HighCompletions)))
	}
	if parallelism > HighCompletionsParallelism {
		errs = append(errs, atMost("parallelism", parallelism, detail, HighCompletionsParallelism, HighCompletions))
	}
	if maxFailed > HighCompletionsFailedIndexes {
		errs = append(errs, atMost("maxFailedIndexes", maxFailed, detail, HighCompletionsFailedIndexes,
			HighCompletions))
	}
	return errs
}

func atMost(name string, value int32, bound string, args ...any) *field.Error {
	return field.Invalid(specPath.Child(name), value, "must be less than or equal to "+fmt.Sprintf(bound, args...))
}
