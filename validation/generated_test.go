package validation

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

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
