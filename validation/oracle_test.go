package validation

// The comments of the Kubernetes API on the fields of a JobSpec, one by one.

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
)

// brokenFields returns the fields of a spec that break a sentence about them, apart from the selector and
// the labels.
func brokenFields(spec *batchv1.JobSpec) []string {
	wrong := map[string]bool{}
	breaks := func(name string, is bool) {
		if is {
			wrong["spec."+name] = true
		}
	}
	mode := deref(spec.CompletionMode, "NonIndexed")
	negative := func(n *int32) bool { return n != nil && *n < 0 }
	above := func(n *int32, limit int32) bool { return n != nil && *n > limit }

	breaks("parallelism", negative(spec.Parallelism))
	breaks("completions", negative(spec.Completions))
	breaks("backoffLimit", negative(spec.BackoffLimit))
	breaks("backoffLimitPerIndex", negative(spec.BackoffLimitPerIndex))
	breaks("maxFailedIndexes", negative(spec.MaxFailedIndexes))
	breaks("ttlSecondsAfterFinished", negative(spec.TTLSecondsAfterFinished))
	breaks("activeDeadlineSeconds", spec.ActiveDeadlineSeconds != nil && *spec.ActiveDeadlineSeconds < 0)
	// "It can be `NonIndexed` (default) or `Indexed`."
	breaks("completionMode", mode != "NonIndexed" && mode != "Indexed")
	// "When value is `Indexed`, .spec.completions must be specified and `.spec.parallelism` must be
	// less than or equal to 10^5."
	breaks("completions", mode == "Indexed" && spec.Completions == nil)
	breaks("parallelism", mode == "Indexed" && above(spec.Parallelism, 100_000))
	// "It can only be set when Job's completionMode=Indexed"
	breaks("backoffLimitPerIndex", mode == "NonIndexed" && spec.BackoffLimitPerIndex != nil)
	breaks("maxFailedIndexes", mode == "NonIndexed" && spec.MaxFailedIndexes != nil)
	// "It can only be specified when backoffLimitPerIndex is set. It can be null or up to
	// completions. It is required and must be less than or equal to 10^4 when is completions greater
	// than 10^5."
	breaks("backoffLimitPerIndex", spec.MaxFailedIndexes != nil && spec.BackoffLimitPerIndex == nil)
	if mode == "Indexed" {
		breaks("maxFailedIndexes", spec.Completions != nil && above(spec.MaxFailedIndexes, *spec.Completions))
		breaks("maxFailedIndexes", above(spec.MaxFailedIndexes, 100_000))
		if above(spec.Completions, 100_000) && spec.BackoffLimitPerIndex != nil {
			breaks("maxFailedIndexes", spec.MaxFailedIndexes == nil || *spec.MaxFailedIndexes > 10_000)
			breaks("parallelism", above(spec.Parallelism, 10_000))
		}
	}
	// "When using podFailurePolicy, Failed is the the only allowed value. TerminatingOrFailed and
	// Failed are allowed values when podFailurePolicy is not in use."
	replacement := deref(spec.PodReplacementPolicy, "Failed")
	breaks("podReplacementPolicy", replacement != "Failed" && (replacement != "TerminatingOrFailed" || spec.PodFailurePolicy != nil))
	// "The only allowed template.spec.restartPolicy values are "Never" or "OnFailure"." "This field
	// cannot be used in combination with restartPolicy=OnFailure."
	restart := spec.Template.Spec.RestartPolicy
	breaks("template.spec.restartPolicy", restart != "Never" && (restart != "OnFailure" || spec.PodFailurePolicy != nil))
	// "all characters before the first "/" must be a valid subdomain as defined by RFC 1123. All
	// characters trailing the first "/" must be valid HTTP Path characters as defined by RFC 3986."
	domain, path, _ := strings.Cut(deref(spec.ManagedBy, "a/b"), "/")
	breaks("managedBy", !subdomain.MatchString(domain) || len(domain) > 253 || !httpPath.MatchString(path) || len(deref(spec.ManagedBy, "")) > 63)
	if spec.PodFailurePolicy != nil {
		brokenFailureRules(spec, breaks)
	}
	if spec.SuccessPolicy != nil {
		brokenSuccessRules(spec, breaks)
	}
	return slices.Sorted(maps.Keys(wrong))
}

var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	httpPath  = regexp.MustCompile(`^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`)
)

func brokenFailureRules(spec *batchv1.JobSpec, breaks func(string, bool)) {
	// "At most 20 elements are allowed."
	breaks("podFailurePolicy.rules", len(spec.PodFailurePolicy.Rules) > 20)
	for i, rule := range spec.PodFailurePolicy.Rules {
		at := fmt.Sprintf("podFailurePolicy.rules[%d]", i)
		known := slices.Contains([]string{"FailJob", "FailIndex", "Ignore", "Count"}, string(rule.Action))
		breaks(at+".action", !known || rule.Action == "FailIndex" && spec.BackoffLimitPerIndex == nil)
		// "One of onExitCodes and onPodConditions, but not both, can be used in each rule."
		breaks(at, (rule.OnExitCodes != nil) == (len(rule.OnPodConditions) > 0))
		breaks(at+".onPodConditions", len(rule.OnPodConditions) > 20)
		for j, pattern := range rule.OnPodConditions {
			at := fmt.Sprintf("%s.onPodConditions[%d]", at, j)
			breaks(at+".type", len(utilvalidation.IsQualifiedName(string(pattern.Type))) > 0)
			breaks(at+".status", pattern.Status != "True" && pattern.Status != "False" && pattern.Status != "Unknown")
		}
		on := rule.OnExitCodes
		if on == nil {
			continue
		}
		at += ".onExitCodes"
		// "When specified, it should match one the container or initContainer names in the pod
		// template."
		pod := &spec.Template.Spec
		breaks(at+".containerName", on.ContainerName != nil &&
			!slices.ContainsFunc(slices.Concat(pod.Containers, pod.InitContainers), func(c corev1.Container) bool { return c.Name == *on.ContainerName }))
		breaks(at+".operator", on.Operator != "In" && on.Operator != "NotIn")
		// "The list of values must be ordered and must not contain duplicates. Value '0' cannot be
		// used for the In operator. At least one element is required. At most 255 elements are
		// allowed."
		breaks(at+".values", len(on.Values) == 0 || len(on.Values) > 255 || !slices.IsSorted(on.Values))
		for j, value := range on.Values {
			breaks(fmt.Sprintf("%s.values[%d]", at, j), slices.Contains(on.Values[:j], value) || value == 0 && on.Operator == "In")
		}
	}
}

func brokenSuccessRules(spec *batchv1.JobSpec, breaks func(string, bool)) {
	// "it must be immutable and works only for the Indexed Jobs."
	if deref(spec.CompletionMode, "") != "Indexed" {
		breaks("successPolicy", true)
		return
	}
	rules := spec.SuccessPolicy.Rules
	// "At most 20 elements are allowed."
	breaks("successPolicy.rules", len(rules) == 0 || len(rules) > 20)
	for i, rule := range rules {
		at := fmt.Sprintf("successPolicy.rules[%d]", i)
		indexes, count := rule.SucceededIndexes, rule.SucceededCount
		// "Each rule must have at least one of the "succeededIndexes" or "succeededCount" specified."
		breaks(at, indexes == nil && count == nil)
		breaks(at+".succeededCount", count != nil && *count < 0)
		breaks(at+".succeededIndexes", indexes != nil && len(*indexes) > 64<<10)
		if spec.Completions == nil {
			continue
		}
		breaks(at+".succeededCount", count != nil && *count > *spec.Completions)
		if indexes == nil {
			continue
		}
		// "The list of indexes must be within 0 to ".spec.completions-1" and must not contain
		// duplicates." "the check is constrained only to the set of indexes specified by
		// succeededIndexes."
		set, err := indexset.ParseOrdered(*indexes, *spec.Completions)
		breaks(at+".succeededIndexes", err != nil)
		breaks(at+".succeededCount", count != nil && int(*count) > set.Len())
	}
}

// createHolds: Create reports the fields that break a sentence, and no others.
func createHolds(t rapid.TB, job *batchv1.Job) {
	t.Helper()
	got := map[string]bool{}
	for _, err := range Create(job) {
		if about(err) {
			got[err.Field] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(got)), brokenFields(&job.Spec); !slices.Equal(got, want) {
		t.Errorf("Create reports %q, want %q", got, want)
	}
}

// about reports whether brokenFields considers the field of an error.
func about(err *field.Error) bool {
	for _, other := range []string{"metadata", "spec.selector", "spec.template.labels", "spec.template.metadata"} {
		if strings.HasPrefix(err.Field, other) {
			return false
		}
	}
	return true
}
