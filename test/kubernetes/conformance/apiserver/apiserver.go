package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	obj := Internal(Default(Decoded(job)))
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

// AcceptStatus returns the errors with which the API server would reject the status of job in place
// of the status of old.
func AcceptStatus(old, job *batchv1.Job) field.ErrorList {
	// The strategy takes the spec from the old Job, so it need not be sent.
	sent := Decoded(&batchv1.Job{ObjectMeta: job.ObjectMeta, Status: job.Status})
	// The strategy compares times with ==, so a stored Job must be decoded, too.
	was, now := Internal(Default(Decoded(old))), Internal(Default(sent))
	// A client that sends no resource version replaces any version. The strategy still requires one.
	was.ResourceVersion = cmp.Or(was.ResourceVersion, "1")
	now.ResourceVersion = cmp.Or(now.ResourceVersion, was.ResourceVersion)
	registry.StatusStrategy.PrepareForUpdate(context.Background(), now, was)
	return registry.StatusStrategy.ValidateUpdate(context.Background(), now, was)
}

// Decoded returns the Job as the server decodes it: times are truncated to seconds, and empty lists and zero times are
// removed. It panics if a time is after the year 9999, which has no JSON.
func Decoded(job *batchv1.Job) *batchv1.Job {
	data, err := json.Marshal(job)
	decoded := new(batchv1.Job)
	if err == nil {
		err = json.Unmarshal(data, decoded)
	}
	if err != nil {
		panic(fmt.Sprintf("apiserver: a Job that cannot be decoded: %v", err))
	}
	return decoded
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
