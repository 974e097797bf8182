package validation

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The spec of a template in a custom resource is checked at its own path.
func TestJobSpec(t *testing.T) {
	path := field.NewPath("spec", "template", "spec")
	spec := written().Spec
	if errs := JobSpec(&spec, path); len(errs) > 0 {
		t.Errorf("a valid spec: %v", errs)
	}
	spec.Parallelism, spec.BackoffLimitPerIndex = ptr(int32(-1)), ptr(int32(2))
	spec.Template.Spec.RestartPolicy = "Sometimes"
	spec.Template.Labels = map[string]string{"a b": "c"}
	spec.Selector = nil // it is generated
	errs := JobSpec(&spec, path)
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	want := []string{"spec.template.spec.parallelism", "spec.template.spec.backoffLimitPerIndex", "spec.template.spec.template.labels",
		"spec.template.spec.template.spec.restartPolicy"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if errs := JobSpec(nil, nil); len(errs) != 1 || !strings.HasSuffix(errs[0].Field, "template.spec.restartPolicy") {
		t.Errorf("no spec: %v", errs)
	}
	// At the path of a Job, they are errors of Create.
	job := &batchv1.Job{Spec: spec}
	for _, err := range JobSpec(&spec, field.NewPath("spec")) {
		if all := Create(job); !slices.ContainsFunc(all, func(e *field.Error) bool { return e.Error() == err.Error() }) {
			t.Errorf("Create does not report %v: %v", err, all)
		}
	}
}
