package validation

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// "jobtemplate will always have the selector automatically generated" (pkg/apis/batch/validation). From 1.38 on the
// annotations of a template are checked like those of a Job.
func TestJobTemplate(t *testing.T) {
	path := field.NewPath("spec", "jobTemplate")
	template := &batchv1.JobTemplateSpec{Spec: written().Spec}
	wantErrors(t, JobTemplate(template, nil, path, Release(38)))
	old := template.DeepCopy()
	template.Annotations = map[string]string{workloadName: "w"}
	template.Spec.Parallelism, template.Spec.MaxFailedIndexes = new(int32(-1)), new(int32(1))
	template.Spec.CompletionMode = new(batchv1.CompletionMode("Other"))
	template.Spec.ManualSelector, template.Spec.Selector = new(true), &metav1.LabelSelector{}
	spec := []string{
		"spec.jobTemplate.spec.parallelism: Invalid value: must be greater than or equal to 0",
		"spec.jobTemplate.spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
		`spec.jobTemplate.spec.completionMode: Unsupported value: supported values: "NonIndexed", "Indexed"`,
	}
	selector := []string{
		"spec.jobTemplate.spec.selector: Invalid value: `selector` will be auto-generated",
		`spec.jobTemplate.spec.manualSelector: Unsupported value: supported values: "nil", "false"`,
	}
	wantErrors(t, JobTemplate(template, nil, path, Release(37)), slices.Concat(spec, selector)...)
	annotation := "spec.jobTemplate.metadata.annotations[" + groupTemplateName + "]: Required value: must be set to a " +
		"non-empty value when " + workloadName + " or " + groupTemplateName + " is set"
	generated := "spec.jobTemplate.spec.backoffLimitPerIndex: Required value: must be set when maxFailedIndexes is set"
	want := slices.Concat([]string{spec[0], spec[2], annotation}, selector, []string{generated})
	wantErrors(t, JobTemplate(template, nil, path, Release(38)), want...)
	wantErrors(t, JobTemplate(template, old, path, Release(38)), want...)
	wantErrors(t, JobTemplate(template, template, path, Release(38)), slices.Concat(spec, selector)...)
	wantErrors(t, JobTemplate(nil, nil, nil), `spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`)
}
