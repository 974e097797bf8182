package lifecycle

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MergePatch returns a JSON merge patch with the fields of a status, for one version of a Job.
func MergePatch(uid types.UID, resourceVersion string, fields any) []byte {
	// cannot fail for a status
	b, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion}, "status": fields,
	})
	return b
}

// Patch returns a status as a JSON merge patch. See jobstatus.Patch. The patch contains every field,
// because a merge patch does not change a field that it does not contain.
func Patch(uid types.UID, resourceVersion string, status *batchv1.JobStatus) []byte {
	if status == nil {
		return nil
	}
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
	return MergePatch(uid, resourceVersion, fields)
}

// orNull returns nil for the zero value, which the API omits from a status.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
