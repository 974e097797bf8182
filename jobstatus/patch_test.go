package jobstatus_test

import (
	"encoding/json"
	"maps"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// merge applies a JSON merge patch, RFC 7396.
func merge(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if old, ok := target.(map[string]any); ok {
		maps.Copy(out, old)
	}
	for k, v := range fields {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = merge(out[k], v)
		}
	}
	return out
}

// patched applies the patch to a Job with the old status. It goes through JSON, as requests to the API server do.
func patched(old *batchv1.JobStatus, patch []byte) *batchv1.Job {
	job := Must(json.Marshal(&batchv1.Job{Status: *old}))
	return new(FromJSON[batchv1.Job](Must(json.Marshal(merge(FromJSON[any](job), FromJSON[any](patch))))))
}

// The patch must contain every field, also those that later releases of the API add.
// Otherwise a field would stay when a status unsets it.
func TestPatch_unsetsEveryField(t *testing.T) {
	job := patched(FullStatus(), jobstatus.Patch("job-uid", "42", &batchv1.JobStatus{}))
	Same(t, "status", job.Status, batchv1.JobStatus{})
}
