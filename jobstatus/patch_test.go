package jobstatus_test

import (
	"encoding/json"
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
		for k, v := range old {
			out[k] = v
		}
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

// decode and encode go through JSON, as requests to the API server do.
func decode[T any](t interface{ Fatalf(string, ...any) }, b []byte) (v T) {
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

func encode(t interface{ Fatalf(string, ...any) }, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%+v: %v", v, err)
	}
	return b
}

// patched applies the patch to a Job with the old status.
func patched(t interface{ Fatalf(string, ...any) }, old *batchv1.JobStatus, patch []byte) *batchv1.Job {
	job := encode(t, &batchv1.Job{Status: *old})
	out := decode[batchv1.Job](t, encode(t, merge(decode[any](t, job), decode[any](t, patch))))
	return &out
}

// The patch must contain every field, also those that later releases of the API add.
// Otherwise a field would stay when a status unsets it.
func TestPatch_unsetsEveryField(t *testing.T) {
	job := patched(t, FullStatus(), jobstatus.Patch("job-uid", "42", &batchv1.JobStatus{}))
	Same(t, "status", job.Status, batchv1.JobStatus{})
}
