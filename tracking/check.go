package tracking

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Check validates the keys. It rejects names that the API server rejects on a pod, and
// duplicate names of annotations or of labels.
func (k Keys) Check(path *field.Path) (errs field.ErrorList) {
	all := k.WithDefaults()
	type key struct{ field, name string }
	invalid := func(of key, why string) {
		errs = append(errs, field.Invalid(path.Child(of.field), of.name, why))
	}
	annotations := []key{{"Index", all.Index}, {"FailureCount", all.FailureCount},
		{"IgnoredFailureCount", all.IgnoredFailureCount}}
	labels := []key{{"ControllerUID", all.ControllerUID}, {"JobName", all.JobName}}
	finalizer := key{"Finalizer", all.Finalizer}
	for _, key := range append(append([]key{finalizer}, annotations...), labels...) {
		for _, why := range validation.IsQualifiedName(key.name) {
			invalid(key, why)
		}
	}
	if !strings.Contains(all.Finalizer, "/") {
		invalid(finalizer, "a finalizer needs a domain: example.com/name")
	}
	for _, why := range validation.IsRelaxedEnvVarName(all.IndexVariable) {
		invalid(key{"IndexVariable", all.IndexVariable}, why)
	}

	if k.ControllerUID == "" {
		labels = append(labels, key{"ControllerUID", legacyControllerUID})
	}
	if k.JobName == "" {
		labels = append(labels, key{"JobName", legacyJobName})
	}
	// the index is an annotation and a label
	for _, group := range [][]key{annotations, append(labels, annotations[0])} {
		seen := map[string]bool{}
		for _, key := range group {
			if seen[key.name] {
				errs = append(errs, field.Duplicate(path.Child(key.field), key.name))
			}
			seen[key.name] = true
		}
	}
	return errs
}
