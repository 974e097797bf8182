package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// written returns a valid Job as a user writes it, with the namespace and UID
// that the API server gives it.
func written() *batchv1.Job {
	job := &batchv1.Job{}
	job.Name, job.Namespace, job.UID = "job", "ns", "uid"
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
	job.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	return job
}

// prepared returns a valid Job, edited, as the API server checks it.
func prepared(edits ...func(*batchv1.Job)) *batchv1.Job {
	job := defaulting.Prepared(written())
	for _, edit := range edits {
		edit(job)
	}
	return job
}

// perIndex is an edit: an Indexed Job with a backoff limit per index.
func perIndex(completions int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		Indexed(completions)(job)
		job.Spec.BackoffLimitPerIndex = new(int32(1))
	}
}

// said renders errors as "field: type: detail". It omits the bad value, which releases of
// apimachinery render differently.
func said(errs field.ErrorList) []string {
	var lines []string
	for _, err := range errs {
		line := err.Field + ": " + err.Type.String()
		if err.Detail != "" {
			line += ": " + err.Detail
		}
		lines = append(lines, line)
	}
	return lines
}

func wantErrors(t *testing.T, got field.ErrorList, want ...string) {
	t.Helper()
	Same(t, "errors", said(got), want)
}
