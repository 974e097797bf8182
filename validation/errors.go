package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// noValue makes an error that names a field but shows no value. It is for values that are
// wrong only together.
func noValue(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// requiredValue checks that a value is set, to one of those that are supported.
func requiredValue[T ~string](path *field.Path, value T, supported []T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("valid values: %q", supported))}
	}
	return supportedValue(path, value, supported)
}

func supportedValue[T ~string](path *field.Path, value T, supported []T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

func qualifiedName(path *field.Path, value string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range validation.IsQualifiedName(value) {
		errs = append(errs, field.Invalid(path, value, msg))
	}
	return errs
}
