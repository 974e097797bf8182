package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// "Beta (+k8s:beta): Enforced when DeclarativeValidationBeta is enabled." That gate is on by default. "Remove handwritten errors
// that are superseded by an enforced declarative counterpart." "Append the enforced declarative errors."
// (1.38, k8s.io/apiserver/pkg/registry/rest/validate.go)
func TestGeneratedRules(t *testing.T) {
	missing := func(detail string) string { return "spec.backoffLimitPerIndex: Required value: " + detail }
	const mode = `spec.completionMode: Unsupported value: supported values: "NonIndexed", "Indexed"`
	edit := func(j *batchv1.Job) {
		j.Spec.MaxFailedIndexes, j.Spec.CompletionMode = new(int32(1)), new(batchv1.CompletionMode("Other"))
	}
	job := prepared(edit)
	for minor, want := range map[int][]string{
		36: {missing("when maxFailedIndexes is specified"), mode},
		37: {missing("when maxFailedIndexes is specified"), mode},
		38: {mode, missing("must be set when maxFailedIndexes is set")},
	} {
		wantErrors(t, Create(job, Release(minor)), want...)
	}
	if err := Create(job, Release(38))[1]; err.Error() != missing("must be set when maxFailedIndexes is set") {
		t.Errorf("got the error %q", err)
	}
}

// "On Update, the check is skipped if neither side's set-ness changed from oldObj" (1.38,
// k8s.io/apimachinery/pkg/api/validate/dependentrequired.go). Then the handwritten error stays.
func TestGeneratedRules_update(t *testing.T) {
	type limits struct{ perIndex, max *int32 }
	one, two := new(int32(1)), new(int32(2))
	const handwritten = "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"
	const generated = "spec.backoffLimitPerIndex: Required value: must be set when maxFailedIndexes is set"
	const fixed = "spec.backoffLimitPerIndex: Invalid value: field is immutable"
	for _, c := range []struct {
		name     string
		was, now limits
		want     []string
	}{
		{"nothing", limits{nil, one}, limits{nil, one}, []string{handwritten}},
		{"the maximum", limits{nil, one}, limits{nil, two}, []string{handwritten}},
		{"a maximum is set", limits{nil, nil}, limits{nil, one}, []string{generated}},
		{"the limit is removed", limits{one, one}, limits{nil, one}, []string{fixed, generated}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := func(l limits) func(*batchv1.Job) {
				return func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = l.perIndex, l.max }
			}
			old := prepared(indexedJob(5), set(c.was), func(j *batchv1.Job) { j.ResourceVersion = "1" })
			job := old.DeepCopy()
			set(c.now)(job)
			wantErrors(t, Update(job, old, Release(38)), c.want...)
		})
	}
}

// The generated rule shows no value.
func TestGeneratedRules_metadata(t *testing.T) {
	old := prepared(func(j *batchv1.Job) { j.ResourceVersion = "1" })
	job := old.DeepCopy()
	job.UID, job.DeletionGracePeriodSeconds, job.Finalizers = "other", new(int64(1)), []string{"x"}
	job.Status.Active = -1
	last := func(errs field.ErrorList, n int) (texts []string) {
		for _, err := range errs[len(errs)-n:] {
			texts = append(texts, err.Error())
		}
		return texts
	}
	want := []string{"metadata.uid: Invalid value: null: field is immutable",
		"metadata.deletionGracePeriodSeconds: Invalid value: null: field is immutable"}
	Same(t, "the last errors of Update", last(Update(job, old, Release(38)), 2), want)
	Same(t, "the last errors of StatusUpdate", last(StatusUpdate(job, old, Release(38)), 2), want)
	Same(t, "the first error as 1.37", last(StatusUpdate(job, old, Release(37))[:1], 1),
		[]string{`metadata.uid: Invalid value: "other": field is immutable`})
}

// Releases of apimachinery before 0.37 find other errors in owner references, which stay as they are.
func TestGeneratedRules_owners(t *testing.T) {
	owners := metadataPath.Child("ownerReferences")
	found := func() field.ErrorList {
		return field.ErrorList{
			field.Required(owners.Index(0).Child("kind"), "must not be empty"),
			field.Invalid(owners.Index(0).Child("apiVersion"), "a/b/c", "must be <group>/<version> or <version>"),
			field.Invalid(owners.Child("name"), "", "must not be empty"),
			field.Required(specPath.Child("selector"), ""),
		}
	}
	job, old := written(), written()
	Same(t, "nothing has changed", said(withGenerated(found(), job, old)), said(found()))
	job.OwnerReferences = []metav1.OwnerReference{{}}
	moved := append(found()[1:], field.Required(owners.Index(0).Child("kind"), ""))
	Same(t, "an update", said(withGenerated(found(), job, old)), said(moved))
	Same(t, "a creation", said(withGenerated(found(), job, nil)), said(moved))
}
