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
	_ "k8s.io/kubernetes/pkg/apis/batch/install" // the Job's versions, in legacyscheme
	_ "k8s.io/kubernetes/pkg/apis/core/install"  // those of the pod template
	registry "k8s.io/kubernetes/pkg/registry/batch/job"
)

// Default returns the Job with the fields set that the API server sets when
// they are absent.
func Default(job *batchv1.Job) *batchv1.Job {
	defaulted := job.DeepCopy()
	legacyscheme.Scheme.Default(defaulted)
	return defaulted
}

// Create returns the Job as it would be stored, if no error says that it would
// be refused. The Job must have its name, namespace and UID, which a server
// would give it first.
func Create(job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	received, err := sent(job)
	if err != nil {
		return nil, undecodable(err)
	}
	obj := decode(received)
	registry.Strategy.PrepareForCreate(context.Background(), obj)
	errs := registry.Strategy.Validate(context.Background(), obj)
	return encode(obj), errs
}

// Warnings returns what the API server warns of when it creates the Job, but for its pod
// template.
func Warnings(job *batchv1.Job) []string {
	bare := job.DeepCopy()
	bare.Spec.Template.Spec.Containers, bare.Spec.Template.Spec.InitContainers = nil, nil
	return registry.Strategy.WarningsOnCreate(context.Background(), decode(bare))
}

// RuleOfJob reports whether an error comes from a rule of the Job: all else below
// spec.template is the check of the pod template, which package validation leaves out.
func RuleOfJob(err *field.Error) bool {
	const template = "spec.template"
	switch {
	case !strings.HasPrefix(err.Field, template):
		return true
	case err.Field == template || err.Field == template+".spec":
		return err.Detail == "field is immutable"
	case strings.HasPrefix(err.Field, template+".metadata.labels"):
		return true
	case err.Field == template+".spec.restartPolicy":
		// The check of pods allows Always and says nothing when it is required.
		return err.Detail != "" && !strings.Contains(err.Detail, `"Always"`)
	}
	return false
}

// Update returns the Job as it would be stored in place of old by an update of
// anything but the status, if no error says that it would be refused.
func Update(old, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	received, err := sent(job)
	if err != nil {
		return nil, undecodable(err)
	}
	return update(registry.Strategy, old, received)
}

// UpdateStatus returns the Job as it would be stored in place of old by an
// update of the status, if no error says that it would be refused.
func UpdateStatus(old, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	// The strategy takes the spec from the old Job: no need to send it.
	received := &batchv1.Job{ObjectMeta: job.ObjectMeta}
	if err := travel(&job.Status, &received.Status); err != nil {
		return nil, undecodable(err)
	}
	return update(registry.StatusStrategy, old, received)
}

// AcceptStatus returns why the API server would refuse to store the status of
// job in place of that of old.
func AcceptStatus(old, job *batchv1.Job) field.ErrorList {
	_, errs := UpdateStatus(old, job)
	return errs
}

func update(strategy rest.RESTUpdateStrategy, oldJob, job *batchv1.Job) (*batchv1.Job, field.ErrorList) {
	// What is stored came through JSON once. The strategies compare times with
	// ==, which tells apart two that merely name the same moment.
	oldJob, err := sent(oldJob)
	if err != nil {
		return nil, undecodable(err)
	}
	old, obj := decode(oldJob), decode(job)
	// A client that sends no resource version does not care which one it
	// replaces. No matter which it is, there must be one.
	if old.ResourceVersion == "" {
		old.ResourceVersion = "1"
	}
	if obj.ResourceVersion == "" {
		obj.ResourceVersion = old.ResourceVersion
	}
	strategy.PrepareForUpdate(context.Background(), obj, old)
	errs := strategy.ValidateUpdate(context.Background(), obj, old)
	return encode(obj), errs
}

// sent returns the Job after its journey from the client.
func sent(job *batchv1.Job) (*batchv1.Job, error) {
	received := new(batchv1.Job)
	return received, travel(job, received)
}

func travel(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// undecodable is the refusal of a body that the server cannot decode, such as
// one with a time after the year 9999.
func undecodable(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, err)}
}

// decode returns the Job in the form in which the strategies take it.
func decode(job *batchv1.Job) *batch.Job {
	var internal batch.Job
	convert(Default(job), &internal)
	return &internal
}

// encode returns the Job in the form in which clients know it.
func encode(internal *batch.Job) *batchv1.Job {
	var job batchv1.Job
	convert(internal, &job)
	return job.DeepCopy()
}

func convert(from, to runtime.Object) {
	if err := legacyscheme.Scheme.Convert(from, to, nil); err != nil {
		panic(fmt.Sprintf("apiserver: a Job does not convert: %v", err))
	}
}
