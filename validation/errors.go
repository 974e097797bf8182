package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// noValue makes an error that names a field but shows no value. It is for values that are
// wrong only together.
func noValue(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// missingOneOf makes an error for a missing value that lists the valid ones.
func missingOneOf[T ~string](path *field.Path, values []T) *field.Error {
	return field.Required(path, fmt.Sprintf("valid values: %q", values))
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
