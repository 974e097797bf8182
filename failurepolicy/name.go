package failurepolicy

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// conditionReason is the syntax of the reason of a condition in the Kubernetes API.
var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonLength is the longest reason with a name that KEP-4443 allows.
const maxReasonLength = 128

// CheckNames returns errors for the names of the rules: a name that an earlier rule has, a name
// that is the index of another rule, because the index identifies a rule without a name, and a
// name that makes no valid reason. path returns the path to the name of a rule; nil is the position of the rule.
//
// The reason, PodFailurePolicy_{name}, must have the syntax of a reason and at most 128
// characters. It cannot be a reason of the Job controller, because none of those has the prefix.
// The empty name means no name and is valid.
//
// KEP-4443 also asks for CamelCase. Kubernetes does not enforce that for reasons, and
// PodFailurePolicy_{name} contains an underscore, so it is not CamelCase anyway. CheckNames
// therefore accepts any name with valid syntax.
func (s *Spec) CheckNames(path func(rule int) *field.Path) (errs field.ErrorList) {
	if s == nil {
		return nil
	}
	if path == nil {
		path = (*field.Path)(nil).Index
	}
	seen := make(map[string]bool, len(s.Rules))
	for i := range s.Rules {
		name := s.Rules[i].Name
		if name == "" {
			continue
		}
		reason := prefix + name
		if seen[name] {
			errs = append(errs, field.Duplicate(path(i), name))
		}
		seen[name] = true
		if n, err := strconv.Atoi(name); err == nil && n != i && n >= 0 && n < len(s.Rules) {
			errs = append(errs, field.Invalid(path(i), name, "must not be the index of another rule"))
		}
		if !conditionReason.MatchString(reason) {
			errs = append(errs, field.Invalid(path(i), name, "must make a valid reason of a condition: '"+reason+
				"' must consist of alphanumeric characters, '_', ',' or ':', and must end with an "+
				"alphanumeric character or '_'"))
		}
		if len(reason) > maxReasonLength {
			errs = append(errs, field.Invalid(path(i), name,
				fmt.Sprintf("must be no more than %d bytes", maxReasonLength-len(prefix))))
		}
	}
	return errs
}

// RuleNames returns the errors of [Spec.CheckNames] for the policy at a path. A rule without a name is identified by
// its index and is always valid.
func RuleNames(spec *Spec, path *field.Path) field.ErrorList {
	return spec.CheckNames(func(rule int) *field.Path { return path.Child("rules").Index(rule).Child("name") })
}

// RuleNamesUpdate returns errors for changed names of rules, in addition to [RuleNames] of
// the new ones: a pod failure policy is immutable, and so are its names. It does not
// report added or removed rules: the API server does.
func RuleNamesUpdate(spec, old *Spec, path *field.Path) (errs field.ErrorList) {
	if spec == nil || old == nil {
		return nil
	}
	for i := range min(len(spec.Rules), len(old.Rules)) {
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Rules[i].Name, old.Rules[i].Name,
			path.Child("rules").Index(i).Child("name"))...)
	}
	return errs
}

// nameIn returns the name in a rule of the API. Releases of k8s.io/api before KEP-4443 have no field for it, so it is
// found by reflection: whoever builds with a newer release gets the names.
func nameIn(rule any) string {
	name := reflect.Indirect(reflect.ValueOf(rule).Elem().FieldByName("Name"))
	if name.Kind() != reflect.String {
		return ""
	}
	return name.String()
}
