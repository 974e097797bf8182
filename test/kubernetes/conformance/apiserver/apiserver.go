package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install" // registers the versions of Job in legacyscheme
	_ "k8s.io/kubernetes/pkg/apis/core/install"  // registers those of the pod template
	registry "k8s.io/kubernetes/pkg/registry/batch/job"
)

// Default returns the Job with the defaults of the API server.
func Default(job *batchv1.Job) *batchv1.Job {
	defaulted := job.DeepCopy()
	legacyscheme.Scheme.Default(defaulted)
	return defaulted
}

// Create returns the Job as the API server would store it, or the errors with which it would
// reject the Job. The Job must have its name, namespace and UID, which a server assigns first.
func Create(job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	received, err := sent(job)
	if err != nil {
		return nil, undecodable(err)
	}
	obj := Internal(Default(received))
	registry.Strategy.PrepareForCreate(context.Background(), obj)
	errs := registry.Strategy.Validate(context.Background(), obj)
	return External(obj), errs
}

// RuleOfJob reports whether an error comes from a rule of the Job. Other errors below spec.template
// come from the validation of pods, which package validation does not contain.
func RuleOfJob(err *field.Error) bool {
	const template = "spec.template"
	switch {
	case !strings.HasPrefix(err.Field, template):
		return true
	case err.Field == template || err.Field == template+".spec":
		return err.Detail == "field is immutable"
	case err.Field == template+".labels", strings.HasPrefix(err.Field, template+".metadata.labels"):
		return true
	case err.Field == template+".spec.restartPolicy":
		// The validation of pods allows Always, and its error for a missing policy has no
		// detail.
		return err.Detail != "" && !strings.Contains(err.Detail, `"Always"`)
	}
	return false
}

// Update returns the Job as the API server would store it in place of old after an update of
// anything but the status, or the errors with which it would reject the update.
func Update(old, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	received, err := sent(job)
	if err != nil {
		return nil, undecodable(err)
	}
	return update(registry.Strategy, old, received)
}

// UpdateStatus returns the Job as the API server would store it in place of old after an update of
// the status, or the errors with which it would reject the update.
func UpdateStatus(old, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	// The strategy takes the spec from the old Job, so it need not be sent.
	received := &batchv1.Job{ObjectMeta: job.ObjectMeta}
	if err := viaJSON(&job.Status, &received.Status); err != nil {
		return nil, undecodable(err)
	}
	return update(registry.StatusStrategy, old, received)
}

// AcceptStatus returns the errors with which the API server would reject the status of job in place
// of the status of old.
func AcceptStatus(old, job *batchv1.Job) field.ErrorList {
	_, errs := UpdateStatus(old, job)
	return errs
}

func update(strategy rest.RESTUpdateStrategy, oldJob, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	// A stored Job was decoded from JSON. The strategies compare times with ==, so the same
	// moment in another representation would differ.
	oldJob, err := sent(oldJob)
	if err != nil {
		return nil, undecodable(err)
	}
	old, obj := Internal(Default(oldJob)), Internal(Default(job))
	// A client that sends no resource version replaces any version. The strategies still
	// require one.
	if old.ResourceVersion == "" {
		old.ResourceVersion = "1"
	}
	if obj.ResourceVersion == "" {
		obj.ResourceVersion = old.ResourceVersion
	}
	strategy.PrepareForUpdate(context.Background(), obj, old)
	errs := strategy.ValidateUpdate(context.Background(), obj, old)
	return External(obj), errs
}

// sent returns the Job as the server decodes it.
func sent(job *batchv1.Job) (*batchv1.Job, error) {
	received := new(batchv1.Job)
	return received, viaJSON(job, received)
}

func viaJSON(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// undecodable returns the error for a body that the server cannot decode, such as one with a time
// after the year 9999.
func undecodable(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, err)}
}

// Internal returns the Job in the internal version, which the strategies use.
func Internal(job *batchv1.Job) *batch.Job {
	var internal batch.Job
	convert(job, &internal)
	return &internal
}

// External returns the Job in the version that clients use.
func External(internal *batch.Job) *batchv1.Job {
	var job batchv1.Job
	convert(internal, &job)
	return job.DeepCopy()
}

func convert(from, to runtime.Object) {
	if err := legacyscheme.Scheme.Convert(from, to, nil); err != nil {
		panic(fmt.Sprintf("apiserver: a Job does not convert: %v", err))
	}
}
