package validation

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// FuzzJob decodes a Job and its old version from any JSON, so it reaches Jobs that anyJob does not
// draw.
func FuzzJob(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobText, oldText string) {
		var job, old batchv1.Job
		if json.Unmarshal([]byte(jobText), &job) == nil && json.Unmarshal([]byte(oldText), &old) == nil {
			anythingGoes(t, &job, &old)
		}
	})
}
