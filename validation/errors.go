package validation

import (
	"fmt"
	"slices"
	"strings"

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
		errs = append(errs, field.Invalid(path, value, labelWords(msg)))
	}
	return errs
}

// labelWords rewrites a message about a label's key or value in the words of 1.37. Older
// releases say "characters" instead of "bytes", and "qualified name" instead of "label key".
func labelWords(msg string) string {
	msg = strings.Replace(msg, "a qualified name must", "a valid label key must", 1)
	if head, ok := strings.CutSuffix(msg, " characters"); ok && strings.Contains(head, "must be no more than ") {
		return head + " bytes"
	}
	return msg
}
