package validation

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The labels without the prefix batch.kubernetes.io/, which came later. The API server still
// sets and requires them.
const (
	legacyControllerUIDLabel = "controller-uid"
	legacyJobNameLabel       = "job-name"
)

// selectorRules relaxes the checks for a Job that an older release stored. For a new Job the
// strictest rules apply: prefixed labels are required, and invalid values are not allowed.
type selectorRules struct {
	prefixedLabels     bool // the two labels with the prefix are required, too
	allowInvalidValues bool // match expressions may have values that are not label values
}

// selectorRulesFor returns the rules for an update of old, or for a new Job if it is nil. No update fails
// because of selectors or labels that the stored Job already has.
//
// The API server also allows invalid values in the selector if the pod affinity of the old template
// has invalid values. This package does not: a selector is immutable, so such an update is
// rejected either way.
func selectorRulesFor(old *batchv1.Job) selectorRules {
	if old == nil {
		return selectorRules{prefixedLabels: true}
	}
	_, hadName := old.Spec.Template.Labels[batchv1.JobNameLabel]
	_, hadUID := old.Spec.Template.Labels[batchv1.ControllerUidLabel]
	return selectorRules{
		prefixedLabels:     hadName && hadUID,
		allowInvalidValues: metavalidation.LabelSelectorHasInvalidLabelValue(old.Spec.Selector),
	}
}

// generatedLabels returns, in the order of the checks, the labels that the API
// server generates for the pods of a Job.
func generatedLabels(job *batchv1.Job, prefixed bool) []label {
	uid, name := string(job.UID), job.Name
	generated := []label{{legacyControllerUIDLabel, uid}, {legacyJobNameLabel, name}}
	if prefixed {
		generated = append(generated, label{batchv1.ControllerUidLabel, uid}, label{batchv1.JobNameLabel, name})
	}
	return generated
}

type label struct{ key, value string }

// generatedSelector checks that selector and labels are as the API server
// generates them, unless the user manages them with manualSelector.
func generatedSelector(job, old *batchv1.Job) field.ErrorList {
	if deref(job.Spec.ManualSelector, false) || job.Spec.Selector == nil {
		return nil // a missing selector is reported with the spec
	}
	var errs field.ErrorList
	if job.UID == "" {
		// "controller-uid=" would select pods of other Jobs.
		errs = append(errs, field.Required(metadataPath.Child("uid"), ""))
	}
	expected := labels.Set{}
	for _, l := range generatedLabels(job, selectorRulesFor(old).prefixedLabels) {
		errs = append(errs, templateLabel(job.Spec.Template.Labels, l)...)
		expected[l.key] = l.value
	}
	if mismatch(job.Spec.Selector, expected) {
		errs = append(errs, field.Invalid(specPath.Child("selector"), job.Spec.Selector,
			"`selector` not auto-generated"))
	}
	return errs
}

func templateLabel(got map[string]string, want label) field.ErrorList {
	path := specPath.Child("template", "metadata", "labels").Key(want.key)
	detail := "must be '" + want.value + "'"
	value, found := got[want.key]
	switch {
	case !found:
		return field.ErrorList{field.Required(path, detail)}
	case value != want.value:
		return field.ErrorList{field.Invalid(path, got, detail)}
	}
	return nil
}

// templateLabels checks the form of the template's labels, in the order of their keys. The
// generated labels include the name of the Job, so it can be too long for a label. The path
// lacks "metadata", as in the API server.
func templateLabels(spec *batchv1.JobSpec) field.ErrorList {
	var errs field.ErrorList
	path := specPath.Child("template", "labels")
	for _, key := range slices.Sorted(maps.Keys(spec.Template.Labels)) {
		errs = append(errs, qualifiedName(path, key)...)
		value := spec.Template.Labels[key]
		for _, msg := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(path, value, msg))
		}
	}
	return errs
}

// selectorAndTemplate checks the form of the selector, and that it matches the pods that the
// Job will create.
func selectorAndTemplate(spec *batchv1.JobSpec, opts selectorRules) field.ErrorList {
	var errs field.ErrorList
	path := specPath.Child("selector")
	if spec.Selector == nil {
		errs = append(errs, field.Required(path, ""))
	} else {
		form := metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: opts.allowInvalidValues}
		errs = append(errs, metavalidation.ValidateLabelSelector(spec.Selector, form, path)...)
	}
	if mismatch(spec.Selector, spec.Template.Labels) {
		errs = append(errs, field.Invalid(specPath.Child("template", "metadata", "labels"), spec.Template.Labels,
			"`selector` does not match template `labels`"))
	}
	return errs
}

// mismatch reports whether the selector does not match. A selector that cannot be parsed is
// no mismatch, because the check of its form reports it. A nil selector matches nothing.
func mismatch(selector *metav1.LabelSelector, set labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Matches(set)
}
