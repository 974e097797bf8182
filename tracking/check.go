package tracking

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check validates the keys. It rejects names that the API server rejects on a pod, and
// duplicate names of annotations or of labels.
func (k Keys) Check(path *field.Path) (errs field.ErrorList) {
	all := k.WithDefaults()
	type key struct{ field, name string }
	check := func(of key, faults ...string) {
		for _, why := range faults {
			errs = append(errs, field.Invalid(path.Child(of.field), of.name, why))
		}
	}
	annotations := []key{{"Index", all.Index}, {"FailureCount", all.FailureCount},
		{"IgnoredFailureCount", all.IgnoredFailureCount}}
	labels := []key{{"ControllerUID", all.ControllerUID}, {"JobName", all.JobName}}
	finalizer := key{"Finalizer", all.Finalizer}
	for _, key := range slices.Concat([]key{finalizer}, annotations, labels) {
		check(key, validation.IsQualifiedName(key.name)...)
	}
	if !strings.Contains(all.Finalizer, "/") {
		check(finalizer, "a finalizer needs a domain: example.com/name")
	}
	check(key{"IndexVariable", all.IndexVariable}, validation.IsRelaxedEnvVarName(all.IndexVariable)...)

	if k.ControllerUID == "" {
		labels = append(labels, key{"ControllerUID", legacyControllerUID})
	}
	if k.JobName == "" {
		labels = append(labels, key{"JobName", legacyJobName})
	}
	// the index is an annotation and a label
	for _, group := range [][]key{annotations, append(labels, annotations[0])} {
		for i, of := range group {
			if slices.ContainsFunc(group[:i], func(earlier key) bool { return earlier.name == of.name }) {
				errs = append(errs, field.Duplicate(path.Child(of.field), of.name))
			}
		}
	}
	return errs
}
