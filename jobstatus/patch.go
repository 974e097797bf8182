package jobstatus

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Patch returns the status as a JSON merge patch for the Job's status subresource. The
// patch names the UID and the resource version, so the API server rejects it if the Job
// has changed or is another Job. A field that is unset in the status is null in the patch,
// which unsets it.
//
// Pass the resource version of the Job that the status was decided on. For the second
// status write of a decision, pass the version that the first write returned. For a nil
// status Patch returns nil.
func Patch(uid types.UID, resourceVersion string, status *batchv1.JobStatus) []byte {
	if status == nil {
		return nil
	}
	// every field, because a merge patch does not change a field that it does not contain
	fields := map[string]any{
		"conditions":              status.Conditions,
		"startTime":               status.StartTime,
		"completionTime":          status.CompletionTime,
		"active":                  orNull(status.Active),
		"succeeded":               orNull(status.Succeeded),
		"failed":                  orNull(status.Failed),
		"terminating":             status.Terminating,
		"completedIndexes":        orNull(status.CompletedIndexes),
		"failedIndexes":           status.FailedIndexes,
		"uncountedTerminatedPods": nil,
		"ready":                   status.Ready,
	}
	if lists := status.UncountedTerminatedPods; lists != nil {
		fields["uncountedTerminatedPods"] = map[string]any{"succeeded": lists.Succeeded, "failed": lists.Failed}
	}
	// cannot fail for a status
	b, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion}, "status": fields,
	})
	return b
}

// orNull returns nil for the zero value, which the API omits from a status.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
