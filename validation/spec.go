package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// specRule is one rule for a spec. check returns nothing if the spec follows the rule, or if
// the rule does not apply to it.
type specRule struct {
	name  string
	check func(*batchv1.JobSpec) field.ErrorList
}

// specRules lists the rules for a spec, in the order in which they are reported.
var specRules = []specRule{
	{"counts are not negative", nonNegativeCounts},
	{"managedBy is a short domain-prefixed path", managedBy},
	{"completionMode is known", knownCompletionMode},
	{"an Indexed Job keeps the limits", indexedLimits},
	{"per-index fields need an Indexed Job", perIndexNeedsIndexed},
	{"podFailurePolicy", podFailurePolicy},
	{"successPolicy", successPolicy},
	{"podReplacementPolicy is known and goes with the failure policy", podReplacementPolicy},
	{"labels of the template are valid", templateLabels},
	{"restartPolicy suits a Job", restartPolicy},
}

func specAndSelector(job, old *batchv1.Job) field.ErrorList {
	return append(specByItself(job, old), selectorAndTemplate(&job.Spec, selectorRulesFor(old))...)
}

// specByItself applies the rules that do not depend on the selector.
func specByItself(job, _ *batchv1.Job) field.ErrorList {
	var errs field.ErrorList
	for _, rule := range specRules {
		errs = append(errs, rule.check(&job.Spec)...)
	}
	return errs
}

func nonNegativeCounts(spec *batchv1.JobSpec) field.ErrorList {
	errs := nonNegative(specPath, "parallelism", spec.Parallelism)
	errs = append(errs, nonNegative(specPath, "completions", spec.Completions)...)
	errs = append(errs, nonNegative(specPath, "activeDeadlineSeconds", spec.ActiveDeadlineSeconds)...)
	errs = append(errs, nonNegative(specPath, "backoffLimit", spec.BackoffLimit)...)
	errs = append(errs, nonNegative(specPath, "ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished)...)
	errs = append(errs, nonNegative(specPath, "backoffLimitPerIndex", spec.BackoffLimitPerIndex)...)
	errs = append(errs, nonNegative(specPath, "maxFailedIndexes", spec.MaxFailedIndexes)...)
	if spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Required(specPath.Child("backoffLimitPerIndex"),
			"when maxFailedIndexes is specified"))
	}
	return errs
}

func nonNegative[T int32 | int64](parent *field.Path, name string, value *T) field.ErrorList {
	if value == nil {
		return nil
	}
	return apivalidation.ValidateNonnegativeField(int64(*value), parent.Child(name))
}

func managedBy(spec *batchv1.JobSpec) field.ErrorList {
	if spec.ManagedBy == nil {
		return nil
	}
	path := specPath.Child("managedBy")
	errs := validation.IsDomainPrefixedPath(path, *spec.ManagedBy)
	if len(*spec.ManagedBy) > MaxManagedByLength {
		errs = append(errs, field.TooLong(path, "", MaxManagedByLength))
	}
	return errs
}

func knownCompletionMode(spec *batchv1.JobSpec) field.ErrorList {
	if spec.CompletionMode == nil {
		return nil
	}
	return supportedValue(specPath.Child("completionMode"), *spec.CompletionMode,
		[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion})
}

// perIndexNeedsIndexed rejects per-index fields of Jobs that are not Indexed. It ignores an
// unknown mode, which has been reported already.
func perIndexNeedsIndexed(spec *batchv1.JobSpec) field.ErrorList {
	if deref(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.NonIndexedCompletion {
		return nil
	}
	const detail = "requires indexed completion mode"
	var errs field.ErrorList
	if spec.BackoffLimitPerIndex != nil {
		errs = append(errs, field.Invalid(specPath.Child("backoffLimitPerIndex"), *spec.BackoffLimitPerIndex, detail))
	}
	if spec.MaxFailedIndexes != nil {
		errs = append(errs, field.Invalid(specPath.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, detail))
	}
	return errs
}

func podReplacementPolicy(spec *batchv1.JobSpec) field.ErrorList {
	if spec.PodReplacementPolicy == nil {
		return nil
	}
	supported := []batchv1.PodReplacementPolicy{batchv1.Failed, batchv1.TerminatingOrFailed}
	if spec.PodFailurePolicy != nil {
		// A failure policy reads how the pod ended, so the replacement must wait for that.
		supported = supported[:1]
	}
	return supportedValue(specPath.Child("podReplacementPolicy"), *spec.PodReplacementPolicy, supported)
}

// restartPolicy rejects Always, and the empty policy because it defaults to Always.
func restartPolicy(spec *batchv1.JobSpec) field.ErrorList {
	path := specPath.Child("template", "spec", "restartPolicy")
	supported := []corev1.RestartPolicy{corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	switch policy := spec.Template.Spec.RestartPolicy; policy {
	case corev1.RestartPolicyAlways, "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q, %q", supported[0], supported[1]))}
	case corev1.RestartPolicyNever:
		return nil
	case corev1.RestartPolicyOnFailure:
		if spec.PodFailurePolicy == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(path, policy,
			fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever))}
	default:
		return field.ErrorList{field.NotSupported(path, policy, supported)}
	}
}
