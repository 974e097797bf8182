package cluster

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/validation"
)

var (
	podResource = corev1.Resource("pods")
	jobResource = batchv1.Resource("jobs")
)

// PatchStatus applies a JSON merge patch to the status subresource of a Job. The
// subresource ignores other fields and rejects an invalid status.
func PatchStatus(job *batchv1.Job, data []byte) (*batchv1.Job, error) {
	var p struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
		}
		Status map[string]any
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%v in %s", err, data))
	}
	if err := preconditions(jobResource, job, p.Metadata.UID, p.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	status, err := mergeStatus(&job.Status, p.Status)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%v in %s", err, data))
	}
	return updateStatus(job, p.Metadata.UID, p.Metadata.ResourceVersion, status)
}

// mergeStatus applies a merge patch to a status.
func mergeStatus(old *batchv1.JobStatus, patch map[string]any) (*batchv1.JobStatus, error) {
	merged := map[string]any{}
	if err := recode(old, &merged); err != nil {
		return nil, err
	}
	merge(merged, patch)
	next := new(batchv1.JobStatus)
	return next, recode(merged, next)
}

// merge applies a JSON merge patch (RFC 7386) to an object.
func merge(to, patch map[string]any) {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(to, name)
		case isObject:
			was, _ := to[name].(map[string]any)
			if was == nil {
				was = map[string]any{}
			}
			merge(was, inner)
			to[name] = was
		default:
			to[name] = value
		}
	}
}

// recode converts a value by its JSON. Times lose the fractions of a second, as when they are stored.
func recode(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// updateStatus replaces the status of a Job. An empty UID or resource version is no
// precondition.
func updateStatus(job *batchv1.Job, uid types.UID, version string, status *batchv1.JobStatus) (*batchv1.Job, error) {
	if err := preconditions(jobResource, job, uid, version); err != nil {
		return nil, err
	}
	next := *job // shares the spec, which is immutable
	next.Status = *status
	if errs := validation.StatusUpdate(&next, job); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, job.Name, errs)
	}
	return &next, nil
}

func preconditions(resource schema.GroupResource, has metav1.Object, uid types.UID, version string) error {
	switch {
	case uid != "" && uid != has.GetUID():
		return apierrors.NewConflict(resource, has.GetName(), fmt.Errorf("the UID is %s, not %s", has.GetUID(), uid))
	case version != "" && version != has.GetResourceVersion():
		return apierrors.NewConflict(resource, has.GetName(),
			fmt.Errorf("the object has been modified: it is at version %s, not %s", has.GetResourceVersion(), version))
	}
	return nil
}
