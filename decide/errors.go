package decide

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrNotManaged is the error for a Job that another controller manages.
var ErrNotManaged = errors.New("the Job is managed by another controller")

// InputError is the error for an invalid snapshot or option. Retrying with the same
// snapshot and the same options does not help.
//
//	var input *decide.InputError
//	if errors.As(err, &input) {
//		for _, e := range input.Fields { … }
//	}
type InputError struct {
	// Fields holds an error for each invalid field, at least one.
	Fields field.ErrorList
}

// Error returns the errors of all fields.
func (e *InputError) Error() string { return fmt.Sprint(e.Fields.ToAggregate()) }

// Unwrap returns the errors of the fields, so that errors.As finds a *field.Error.
func (e *InputError) Unwrap() []error {
	var errs []error
	for _, err := range e.Fields {
		errs = append(errs, err)
	}
	return errs
}
