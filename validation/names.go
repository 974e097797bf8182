package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
)

// RuleNames returns errors for the names of the rules of a pod failure policy; path is the
// path of the policy. KEP-4443 (Design Details, Validation) requires that
//
//   - no other rule has the name;
//   - the name is not an integer that is the index of another rule;
//   - the reason made from it, PodFailurePolicy_{name}, is a valid reason of a condition
//     with at most 128 characters;
//   - that reason is not a reason of the Job controller.
//
// A rule without a name is identified by its index and is always valid.
func RuleNames(spec *failurepolicy.Spec, path *field.Path) field.ErrorList {
	return spec.CheckNames(func(rule int) *field.Path { return path.Child("rules").Index(rule).Child("name") })
}

// RuleNamesUpdate returns errors for changed names of rules, in addition to [RuleNames] of
// the new ones: a pod failure policy is immutable, and so are its names. It does not
// report added or removed rules; [Update] does.
func RuleNamesUpdate(spec, old *failurepolicy.Spec, path *field.Path) field.ErrorList {
	if spec == nil || old == nil {
		return nil
	}
	var errs field.ErrorList
	for i := range min(len(spec.Rules), len(old.Rules)) {
		if name := spec.Rules[i].Name; name != old.Rules[i].Name {
			errs = append(errs, field.Invalid(path.Child("rules").Index(i).Child("name"), name,
				apivalidation.FieldImmutableErrorMsg))
		}
	}
	return errs
}
