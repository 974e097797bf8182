package jobfate

import (
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/internal/decide"
)

// ErrNotManaged is the error for a Job that another controller manages.
var ErrNotManaged = decide.ErrNotManaged

// InputError is the error for a snapshot that cannot be understood. To try again
// with the same snapshot, or the same options, is of no use.
//
//	var input *jobfate.InputError
//	if errors.As(err, &input) {
//		for _, e := range input.Fields { … }
//	}
type InputError struct {
	// Fields says what is wrong with which field. There is at least one.
	Fields field.ErrorList
}

// Error returns the errors of all fields.
func (e *InputError) Error() string { return e.Fields.ToAggregate().Error() }

// Unwrap returns the errors of the fields, so that errors.As finds a *field.Error.
func (e *InputError) Unwrap() []error {
	errs := make([]error, len(e.Fields))
	for i, err := range e.Fields {
		errs[i] = err
	}
	return errs
}

// publicError returns an error of the package decide as callers know it.
func publicError(err error) error {
	var input *decide.InputError
	if errors.As(err, &input) {
		return &InputError{input.Fields}
	}
	return err
}
