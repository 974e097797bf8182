package validation

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// JobSpec returns what the API server would reject in the spec of a new Job, with the path at which an
// object holds it, such as spec.template.spec in a custom resource. It is for templates of Jobs: what
// depends on the name, the namespace or the UID of the Job, such as the generated selector, is not
// checked. Pass the spec with its defaults, see [Prepared].
func JobSpec(spec *batchv1.JobSpec, path *field.Path) field.ErrorList {
	if spec == nil {
		spec = &batchv1.JobSpec{}
	}
	var errs field.ErrorList
	for _, rule := range specRules {
		for _, err := range rule.check(spec) {
			at := *err
			at.Field = path.String() + strings.TrimPrefix(err.Field, specPath.String())
			errs = append(errs, &at)
		}
	}
	return errs
}
