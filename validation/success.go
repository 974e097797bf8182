package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func successPolicy(spec *batchv1.JobSpec) field.ErrorList {
	if spec.SuccessPolicy == nil {
		return nil
	}
	path := specPath.Child("successPolicy")
	if !indexed(spec) {
		return field.ErrorList{field.Invalid(path, *spec.SuccessPolicy, "requires indexed completion mode")}
	}
	var errs field.ErrorList
	path = path.Child("rules")
	rules := spec.SuccessPolicy.Rules
	if len(rules) == 0 {
		errs = append(errs, field.Required(path,
			"at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > MaxSuccessPolicyRules {
		errs = append(errs, field.TooMany(path, len(rules), MaxSuccessPolicyRules))
	}
	for i := range rules {
		errs = append(errs, successRule(spec.Completions, &rules[i], path.Index(i))...)
	}
	return errs
}

// successRule checks one rule. Missing completions are reported elsewhere, and successRule
// then skips the comparisons with them. The API server panics in that case.
func successRule(completions *int32, rule *batchv1.SuccessPolicyRule, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		errs = append(errs, field.Required(path,
			"at least one of succeededCount or succeededIndexes must be specified"))
	}
	listed := 0
	if rule.SucceededIndexes != nil {
		path := path.Child("succeededIndexes")
		if len(*rule.SucceededIndexes) > MaxSucceededIndexesLength {
			errs = append(errs, field.TooLong(path, "", MaxSucceededIndexesLength))
		}
		if completions != nil {
			var reason string
			listed, reason = countIndexes(*rule.SucceededIndexes, *completions)
			if reason != "" {
				errs = append(errs, field.Invalid(path, *rule.SucceededIndexes,
					"error parsing succeededIndexes: "+reason))
			}
		}
	}
	if rule.SucceededCount == nil {
		return errs
	}
	errs = append(errs, nonNegative(path, "succeededCount", rule.SucceededCount)...)
	if completions == nil {
		return errs
	}
	return append(errs, countFits(*rule.SucceededCount, *completions, listed, rule.SucceededIndexes != nil,
		path.Child("succeededCount"))...)
}

func countFits(count, completions int32, listed int, some bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if count > completions {
		errs = append(errs, field.Invalid(path, count,
			fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
	}
	if some && int(count) > listed {
		errs = append(errs, field.Invalid(path, count,
			fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified "+
				"succeededIndexes field)", listed)))
	}
	return errs
}
