package validation

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// delegationAnnotations names a template in the Workload of another controller. The built-in controller, with its
// gate WorkloadWithJob, makes the PodGroup of the Job from it.
var delegationAnnotations = [...]string{workloadName, groupTemplateName}

const (
	workloadName      = "scheduling.k8s.io/workload-name"
	groupTemplateName = "scheduling.k8s.io/group-template-name"
)

func delegationOfJob(job, old *batchv1.Job) field.ErrorList {
	return delegation(job.Annotations, orEmpty(old).Annotations, metadataPath)
}

// delegation requires both annotations if there is one, unless they are as they were.
func delegation(now, was map[string]string, metadata *field.Path) field.ErrorList {
	var errs field.ErrorList
	present, changed := false, false
	for _, key := range delegationAnnotations {
		value, found := now[key]
		before, had := was[key]
		present = present || found
		changed = changed || found != had || value != before
		if value == "" {
			errs = append(errs, field.Required(metadata.Child("annotations").Key(key),
				"must be set to a non-empty value when "+workloadName+" or "+groupTemplateName+" is set"))
		}
	}
	if !present || !changed {
		return nil
	}
	return errs
}
