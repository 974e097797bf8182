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
		Status map[string]json.RawMessage
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

// mergeStatus applies a merge patch to a status. The patch replaces the fields that it
// names, and null removes them. Only the lists of uncounted pods are merged field by field.
func mergeStatus(old *batchv1.JobStatus, patch map[string]json.RawMessage) (*batchv1.JobStatus, error) {
	next := old.DeepCopy()
	for name, raw := range patch {
		var err error
		switch name {
		case "conditions":
			err = replace(&next.Conditions, raw)
		case "startTime":
			err = replace(&next.StartTime, raw)
		case "completionTime":
			err = replace(&next.CompletionTime, raw)
		case "active":
			err = replace(&next.Active, raw)
		case "succeeded":
			err = replace(&next.Succeeded, raw)
		case "failed":
			err = replace(&next.Failed, raw)
		case "terminating":
			err = replace(&next.Terminating, raw)
		case "completedIndexes":
			err = replace(&next.CompletedIndexes, raw)
		case "failedIndexes":
			err = replace(&next.FailedIndexes, raw)
		case "ready":
			err = replace(&next.Ready, raw)
		case "uncountedTerminatedPods":
			err = mergeUncounted(next, raw)
		}
		if err != nil {
			return nil, err
		}
	}
	return next, nil
}

// replace decodes a value into a new variable, so that nothing of the old value remains.
func replace[T any](to *T, raw json.RawMessage) error {
	var value T
	err := json.Unmarshal(raw, &value)
	*to = value
	return err
}

func mergeUncounted(status *batchv1.JobStatus, raw json.RawMessage) error {
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(raw, &lists); err != nil {
		return err
	}
	if lists == nil {
		status.UncountedTerminatedPods = nil
		return nil
	}
	u := status.UncountedTerminatedPods
	if u == nil {
		u = &batchv1.UncountedTerminatedPods{}
		status.UncountedTerminatedPods = u
	}
	if list, ok := lists["succeeded"]; ok {
		if err := replace(&u.Succeeded, list); err != nil {
			return err
		}
	}
	if list, ok := lists["failed"]; ok {
		return replace(&u.Failed, list)
	}
	return nil
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
