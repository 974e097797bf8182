package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
	statusPath   = field.NewPath("status")
)

// Create returns what the API server would reject in a new Job. Pass the Job as the API
// server validates it, with its namespace and UID: the copy that defaulting.Prepared returns. An empty
// list means that the Job is accepted, apart from its pod template (see the package
// overview).
func Create(job *batchv1.Job, opts ...Option) field.ErrorList {
	job = orEmpty(job)
	r := releaseOf(opts)
	return r.reported(withPaths(job, r.check(creationRules, job, nil)), job, nil)
}

// creationRules lists the rules for a new Job, in the order in which they are reported.
var creationRules = []jobRule{
	{name: "metadata", check: newMetadata},
	{name: "selector and labels are generated", check: generatedSelector},
	{name: "spec", check: specAndSelector},
	{name: "delegation annotations come in pairs", check: delegationOfJob, from: 38},
	{name: "host names of the pods", check: podHostname},
}

// podHostname checks the longest host name of a pod of an Indexed Job, "<job>-<last index>".
// If it is not a valid DNS label, the Job could never create that pod.
func podHostname(job, _ *batchv1.Job) field.ErrorList {
	completions := job.Spec.Completions
	if !indexed(&job.Spec) || completions == nil || *completions <= 0 {
		return nil
	}
	longest := fmt.Sprintf("%s-%d", job.Name, *completions-1)
	if len(validation.IsDNS1123Label(longest)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(metadataPath.Child("name"), job.Name,
		"will not able to create pod with invalid DNS label: "+longest)}
}

// indexed reports whether the completion mode is Indexed.
func indexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

func orEmpty(job *batchv1.Job) *batchv1.Job {
	if job == nil {
		return &batchv1.Job{}
	}
	return job
}

// deref returns *p, or otherwise if p is nil.
func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// samePointee reports whether both point to equal values, or both are nil.
func samePointee[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
