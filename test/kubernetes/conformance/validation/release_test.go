package validation_test

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/validation"
)

// The package suites also compares the validation in other releases.

// asReleased is the option with which jobfate validates as the compared release.
func asReleased() validation.Option { return validation.Release(kubernetes.Minor()) }

// once returns the errors of a strategy as the API server returns them: from 1.37 on each once.
func once(errs field.ErrorList) field.ErrorList {
	if kubernetes.Minor() <= 36 {
		return errs
	}
	return errs.Filter()
}

// startTimeError is the divergence start-time-error of docs/compatibility.md.
const startTimeError = "startTime cannot be removed for unsuspended job"

// asSupported replaces the text of errors about a status with that of the supported releases.
func asSupported(errs field.ErrorList, j *batch.Job) field.ErrorList {
	if kubernetes.Minor() >= 36 {
		return errs
	}
	for i, err := range errs {
		if err.Field == "status.startTime" && err.Detail == startTimeError {
			errs[i] = field.Invalid(field.NewPath("status", "startTime"), j.Status.StartTime, "field is immutable for unsuspended job once set")
		}
	}
	return errs
}

// errorsOf returns the errors of an answer. Their details contain the invalid values, except objects,
// which the API server shows in its internal version.
func errorsOf(reasons []metav1.StatusCause) (errs field.ErrorList) {
	for _, c := range reasons {
		kind := field.ErrorType(c.Type)
		detail := strings.TrimPrefix(strings.TrimPrefix(c.Message, kind.String()), ": ")
		if strings.HasPrefix(detail, "{") {
			detail = detail[strings.LastIndex(detail, ": ")+len(": "):]
		}
		errs = append(errs, &field.Error{Type: kind, Field: c.Field, Detail: detail})
	}
	return errs
}
