package jobstatus_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// The patch must contain every field, also those that later releases of the API add.
// Otherwise a field would stay when a status unsets it.
func TestPatch_unsetsEveryField(t *testing.T) {
	job := Patched(&batchv1.Job{Status: *FullStatus()}, jobstatus.Patch("job-uid", "42", &batchv1.JobStatus{}))
	Same(t, "status", job.Status, batchv1.JobStatus{})
}
