package validation

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// newMetadata checks the metadata of a Job on its own.
func newMetadata(job, _ *batchv1.Job) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, metadataPath)
	return append(errs, finalizers(job.Finalizers)...)
}

// updated returns the Job of an update as the API server validates it: what no update changes in the metadata
// is that of the old Job.
func updated(job, old *batchv1.Job) *batchv1.Job {
	next := *orEmpty(job)
	next.Generation, next.UID = old.Generation, cmp.Or(next.UID, old.UID)
	if !old.CreationTimestamp.IsZero() {
		next.CreationTimestamp = old.CreationTimestamp
	}
	if old.DeletionTimestamp != nil {
		next.DeletionTimestamp = old.DeletionTimestamp
	}
	if next.DeletionGracePeriodSeconds == nil {
		next.DeletionGracePeriodSeconds = old.DeletionGracePeriodSeconds
	}
	return &next
}

// changedMetadata checks the change of the metadata in an update, as a Job.
func changedMetadata(job, old *batchv1.Job) field.ErrorList {
	return append(changedObject(job, old), finalizers(job.Finalizers)...)
}

// commonFields returns the checks of an update that the API server makes first, for objects of all kinds.
func commonFields(job, old *batchv1.Job) field.ErrorList {
	return append(pathSegments(job), changedObject(job, old)...)
}

func changedObject(job, old *batchv1.Job) field.ErrorList {
	// apimachinery fills in fields that the new metadata lacks, so it gets copies.
	now, was := job.ObjectMeta, old.ObjectMeta
	return apivalidation.ValidateObjectMetaUpdate(&now, &was, metadataPath)
}

// withPaths returns the errors in a new Job. If there are none, it applies the check that follows in
// the API server, for objects of all kinds. Only the generateName of a valid Job can fail it, if it ends
// in a dash.
func withPaths(job *batchv1.Job, errs field.ErrorList) field.ErrorList {
	if len(errs) > 0 {
		return errs
	}
	return pathSegments(job)
}

// pathSegments checks that no name contains a slash or percent sign.
func pathSegments(job *batchv1.Job) field.ErrorList {
	return apivalidation.ValidateObjectMeta(&job.ObjectMeta, true, pathvalidation.ValidatePathSegmentName, metadataPath)
}

// finalizers rejects finalizers without a domain, except the few that Kubernetes defines.
func finalizers(names []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if strings.Contains(name, "/") {
			continue
		}
		switch name {
		case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		default:
			errs = append(errs, field.Invalid(metadataPath.Child("finalizers").Index(i), name,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
