package validation_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/registry/batch/job"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/apiserver"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/validation"
)

var ctx = context.Background()

// internal returns a Job as the API server decodes it, in its internal version and without defaults.
func internal(j *batchv1.Job) *batch.Job { return apiserver.Internal(apiserver.Decoded(j)) }

// realDefault returns a Job with the defaults of the API server.
func realDefault(j *batchv1.Job) *batchv1.Job { return apiserver.Default(apiserver.Decoded(j)) }

// realPrepare returns a new Job as the API server prepares it for validation.
func realPrepare(j *batchv1.Job) *batch.Job {
	out := apiserver.Internal(realDefault(j))
	job.Strategy.PrepareForCreate(ctx, out)
	return out
}

// realCreate validates a new Job as rest.BeforeCreate does after PrepareForCreate.
func realCreate(j *batch.Job) (field.ErrorList, error) {
	return tolerant(func() field.ErrorList { return once(declared(j, job.Strategy.Validate(ctx, j))) })
}

// declared adds the errors of the declarative validation to those of the handwritten one. It finds the methods by
// their names because their types are newer than 1.36, which does not validate Jobs declaratively.
func declared(j *batch.Job, errs field.ErrorList) field.ErrorList {
	strategy := reflect.ValueOf(job.Strategy)
	validate, config := strategy.MethodByName("ValidateDeclaratively"), strategy.MethodByName("DeclarativeValidationConfig")
	if !validate.IsValid() {
		return errs
	}
	objects := []reflect.Value{reflect.ValueOf(requestFor(j.Namespace)), reflect.ValueOf(j), reflect.Zero(reflect.TypeFor[runtime.Object]())}
	args := append(objects, reflect.ValueOf(errs), reflect.ValueOf(operation.Create), config.Call(objects)[0])
	return validate.Call(args)[0].Interface().(field.ErrorList)
}

// realUpdate does what the API server does with a request to update a Job, up to the storage, and
// returns why it is rejected.
func realUpdate(j, old *batchv1.Job) (reasons []metav1.StatusCause, err error) {
	now, was := withDefaults(j), withDefaults(old)
	return tolerant(func() []metav1.StatusCause {
		return causes(rest.BeforeUpdate(job.Strategy, requestFor(j.Namespace), now, was))
	})
}

// withDefaults returns a Job whose pod template has the defaults, with which the API server compares it.
func withDefaults(j *batchv1.Job) *batch.Job {
	out := apiserver.Decoded(j)
	out.Spec.Template = realDefault(j).Spec.Template
	return apiserver.Internal(out)
}

// requestFor returns the context of a request for a Job in a namespace.
func requestFor(namespace string) context.Context {
	ctx := request.WithNamespace(context.Background(), namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: "batch", APIVersion: "v1", Resource: "jobs"})
}

// realStatusRequest does what the API server does with a request to update the status of a Job, up to the
// storage, and returns why it is rejected.
func realStatusRequest(j, old *batchv1.Job) []metav1.StatusCause {
	var strategy rest.RESTUpdateStrategy = job.StatusStrategy
	if kubernetes.Minor() < 36 {
		strategy = supportedStatus{strategy}
	}
	return causes(rest.BeforeUpdate(strategy, requestFor(old.Namespace), internal(j), internal(old)))
}

// supportedStatus is the strategy of statuses, with the text of the supported releases.
type supportedStatus struct{ rest.RESTUpdateStrategy }

func (s supportedStatus) ValidateUpdate(ctx context.Context, now, old runtime.Object) field.ErrorList {
	return asSupported(s.RESTUpdateStrategy.ValidateUpdate(ctx, now, old), now.(*batch.Job))
}

func realStatusUpdate(j, old *batchv1.Job) (field.ErrorList, error) {
	now, was := internal(j), internal(old)
	job.StatusStrategy.PrepareForUpdate(ctx, now, was)
	return tolerant(func() field.ErrorList { return asSupported(job.StatusStrategy.ValidateUpdate(ctx, now, was), now) })
}

// realStatus validates one status, with all options on that make the validation stricter, and with the one
// that is always on from 1.37 on.
func realStatus(j *batchv1.Job) field.ErrorList {
	now := internal(j)
	var options batchvalidation.JobStatusValidationOptions
	for name, option := range reflect.ValueOf(&options).Elem().Fields() {
		option.SetBool(strings.HasPrefix(name.Name, "Reject") || name.Name == "AllowForSuccessCriteriaMetInExtendedScope")
	}
	suspend, completions := now.Spec.Suspend, now.Spec.Completions
	nothingToDo := suspend != nil && *suspend && completions != nil && *completions == 0
	options.RejectFinishedJobWithoutStartTime = !nothingToDo
	return asSupported(batchvalidation.ValidateJobStatusUpdate(now, now.DeepCopy(), options), now)
}

// tolerant runs a validation of the API server, and returns a panic as an error.
func tolerant[T any](check func() T) (errs T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the API server's validation panics: %v", r)
		}
	}()
	return check(), nil
}

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
