package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The values that a pod failure policy may have, sorted as the messages list them.
var (
	failureActions = []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionCount,
		batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob,
		batchv1.PodFailurePolicyActionIgnore,
	}
	exitCodeOperators = []batchv1.PodFailurePolicyOnExitCodesOperator{
		batchv1.PodFailurePolicyOnExitCodesOpIn,
		batchv1.PodFailurePolicyOnExitCodesOpNotIn,
	}
	conditionStatuses = []corev1.ConditionStatus{
		corev1.ConditionFalse,
		corev1.ConditionTrue,
		corev1.ConditionUnknown,
	}
)

func podFailurePolicy(spec *batchv1.JobSpec) field.ErrorList {
	if spec.PodFailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	path := specPath.Child("podFailurePolicy", "rules")
	rules := spec.PodFailurePolicy.Rules
	if len(rules) > MaxPodFailurePolicyRules {
		errs = append(errs, field.TooMany(path, len(rules), MaxPodFailurePolicyRules))
	}
	containers := containerNames(&spec.Template.Spec)
	for i := range rules {
		errs = append(errs, failureRule(spec, &rules[i], path.Index(i), containers)...)
	}
	return errs
}

func containerNames(pod *corev1.PodSpec) map[string]bool {
	names := map[string]bool{}
	for i := range pod.Containers {
		names[pod.Containers[i].Name] = true
	}
	for i := range pod.InitContainers {
		names[pod.InitContainers[i].Name] = true
	}
	return names
}

func failureRule(spec *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, path *field.Path,
	containers map[string]bool) field.ErrorList {
	errs := failureAction(spec, rule.Action, path.Child("action"))
	byCode, byCondition := rule.OnExitCodes != nil, len(rule.OnPodConditions) > 0
	if byCode {
		errs = append(errs, exitCodes(rule.OnExitCodes, path.Child("onExitCodes"), containers)...)
	}
	errs = append(errs, podConditions(rule.OnPodConditions, path.Child("onPodConditions"))...)
	switch {
	case byCode && byCondition:
		errs = append(errs, noValue(path, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case !byCode && !byCondition:
		errs = append(errs, noValue(path, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return errs
}

func failureAction(spec *batchv1.JobSpec, action batchv1.PodFailurePolicyAction, path *field.Path) field.ErrorList {
	if action == batchv1.PodFailurePolicyActionFailIndex && spec.BackoffLimitPerIndex == nil {
		return field.ErrorList{field.Invalid(path, action, "requires the backoffLimitPerIndex to be set")}
	}
	return requiredValue(path, action, failureActions)
}

func exitCodes(on *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path,
	containers map[string]bool) field.ErrorList {
	errs := requiredValue(path.Child("operator"), on.Operator, exitCodeOperators)
	if on.ContainerName != nil && !containers[*on.ContainerName] {
		errs = append(errs, field.Invalid(path.Child("containerName"), *on.ContainerName,
			"must be one of the container or initContainer names in the pod template"))
	}
	return append(errs, exitCodeValues(on, path.Child("values"))...)
}

func exitCodeValues(on *batchv1.PodFailurePolicyOnExitCodesRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(on.Values) == 0:
		errs = append(errs, field.Invalid(path, on.Values, "at least one value is required"))
	case len(on.Values) > MaxExitCodes:
		errs = append(errs, field.TooMany(path, len(on.Values), MaxExitCodes))
	}
	ordered := true
	seen := make(map[int32]bool, len(on.Values))
	for i, value := range on.Values {
		if value == 0 && on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn {
			errs = append(errs, field.Invalid(path.Index(i), value, "must not be 0 for the In operator"))
		}
		if seen[value] {
			errs = append(errs, field.Duplicate(path.Index(i), value))
		}
		seen[value] = true
		ordered = ordered && (i == 0 || on.Values[i-1] <= value)
	}
	if !ordered {
		errs = append(errs, field.Invalid(path, on.Values, "must be ordered"))
	}
	return errs
}

func podConditions(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(patterns) > MaxPodConditions {
		errs = append(errs, field.TooMany(path, len(patterns), MaxPodConditions))
	}
	for i, pattern := range patterns {
		path := path.Index(i)
		errs = append(errs, qualifiedName(path.Child("type"), string(pattern.Type))...)
		errs = append(errs, requiredValue(path.Child("status"), pattern.Status, conditionStatuses)...)
	}
	return errs
}
