package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
)

// RuleNames returns what is wrong with the names of the rules of a pod failure
// policy, which path leads to. KEP-4443 (Design Details, Validation) wants of a
// name that
//
//   - no other rule has it;
//   - it is no integer that is the index of another rule;
//   - the reason that it makes, PodFailurePolicy_{name}, is a valid reason of a
//     condition of at most 128 characters;
//   - that reason is none that the Job controller gives by itself.
//
// A rule without a name is known by its index and always right.
func RuleNames(spec *failurepolicy.Spec, path *field.Path) field.ErrorList {
	return spec.CheckNames(func(rule int) *field.Path { return path.Child("rules").Index(rule).Child("name") })
}

// RuleNamesUpdate returns what is wrong with changing the names of the rules, in
// addition to [RuleNames] of the new ones: a pod failure policy is immutable, and its
// names are part of it. Rules that are added or removed are not reported; [Update] does
// that.
func RuleNamesUpdate(spec, old *failurepolicy.Spec, path *field.Path) field.ErrorList {
	if spec == nil || old == nil {
		return nil
	}
	var errs field.ErrorList
	for i := range min(len(spec.Rules), len(old.Rules)) {
		if name := spec.Rules[i].Name; name != old.Rules[i].Name {
			errs = append(errs, field.Invalid(path.Child("rules").Index(i).Child("name"), name, apivalidation.FieldImmutableErrorMsg))
		}
	}
	return errs
}
