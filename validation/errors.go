package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// tooLong is field.TooLong in the words of 1.36.3; they have changed since 1.30.
func tooLong(path *field.Path, most int) *field.Error {
	return &field.Error{
		Type:     field.ErrorTypeTooLong,
		Field:    path.String(),
		BadValue: "<value omitted>",
		Detail:   fmt.Sprintf("may not be more than %d bytes", most),
	}
}

// noValue makes an error that names a field and shows no value, for what is
// wrong about several values together.
func noValue(path *field.Path, detail string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, detail)
}

// missingOneOf asks for a value and lists what may be given.
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

// labelWords puts a message about a label's key or value in the words of 1.36.3.
// Older releases counted characters and spoke of qualified names.
func labelWords(msg string) string {
	msg = strings.Replace(msg, "a qualified name must", "a valid label key must", 1)
	if head, ok := strings.CutSuffix(msg, " characters"); ok && strings.Contains(head, "must be no more than ") {
		return head + " bytes"
	}
	return msg
}
