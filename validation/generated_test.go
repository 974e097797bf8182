package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

const (
	handwrittenLimit = "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"
	generatedLimit   = "spec.backoffLimitPerIndex: Required value: must be set when maxFailedIndexes is set"
)

// "Remove handwritten errors that are superseded by an enforced declarative counterpart." "Append the enforced
// declarative errors." (1.38, k8s.io/apiserver/pkg/registry/rest/validate.go)
func TestGeneratedRules(t *testing.T) {
	const mode = `spec.completionMode: Unsupported value: supported values: "NonIndexed", "Indexed"`
	job := prepared(func(j *batchv1.Job) {
		j.Spec.MaxFailedIndexes, j.Spec.CompletionMode = new(int32(1)), new(batchv1.CompletionMode("Other"))
	})
	wantErrors(t, Create(job, Release(36)), handwrittenLimit, mode)
	wantErrors(t, Create(job, Release(37)), handwrittenLimit, mode)
	wantErrors(t, Create(job, Release(38)), mode, generatedLimit)
}

// "On Update, the check is skipped if neither side's set-ness changed from oldObj" (1.38,
// k8s.io/apimachinery/pkg/api/validate/dependentrequired.go). Then the handwritten error stays.
func TestGeneratedRules_update(t *testing.T) {
	type limits struct{ perIndex, max *int32 }
	one, two := new(int32(1)), new(int32(2))
	for _, c := range []struct {
		name     string
		was, now limits
		want     []string
	}{
		{"nothing", limits{nil, one}, limits{nil, one}, []string{handwrittenLimit}},
		{"the maximum", limits{nil, one}, limits{nil, two}, []string{handwrittenLimit}},
		{"a maximum is set", limits{nil, nil}, limits{nil, one}, []string{generatedLimit}},
		{"the limit is removed", limits{one, one}, limits{nil, one},
			[]string{"spec.backoffLimitPerIndex: Invalid value: field is immutable", generatedLimit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := prepared(indexedJob(5), func(j *batchv1.Job) { j.ResourceVersion = "1" })
			job := old.DeepCopy()
			old.Spec.BackoffLimitPerIndex, old.Spec.MaxFailedIndexes = c.was.perIndex, c.was.max
			job.Spec.BackoffLimitPerIndex, job.Spec.MaxFailedIndexes = c.now.perIndex, c.now.max
			wantErrors(t, Update(job, old, Release(38)), c.want...)
		})
	}
}

// Generated rules show no value. Releases of apimachinery before 0.37 find other errors in owner references, which
// stay as they are.
func TestGeneratedRules_metadata(t *testing.T) {
	owners, selector := metadataPath.Child("ownerReferences"), specPath.Child("selector")
	kind, owner := owners.Index(0).Child("kind"), owners.Child("name")
	found := func() field.ErrorList {
		return field.ErrorList{field.Required(kind, "must not be empty"), field.Invalid(owner, "", "must not be empty"),
			field.Invalid(metadataPath.Child("uid"), "x", "field is immutable"), field.Required(selector, "")}
	}
	job, old := written(), written()
	job.OwnerReferences = []metav1.OwnerReference{{}}
	uid, stays := field.Invalid(metadataPath.Child("uid"), nil, "field is immutable"), found()[1]
	moved := field.ErrorList{stays, found()[3], uid, field.Required(kind, "")}
	for name, c := range map[string]struct {
		old  *batchv1.Job
		want field.ErrorList
	}{"a creation": {nil, moved}, "new owners": {old, moved}, "the same owners": {job, field.ErrorList{found()[0], stays, found()[3], uid}}} {
		Same(t, name, withGenerated(found(), job, c.old).ToAggregate().Error(), c.want.ToAggregate().Error())
	}
}
