package jobstatus_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

func TestPatch_golden(t *testing.T) {
	for _, tc := range []struct {
		reason string
		status *batchv1.JobStatus
		want   string
	}{
		{"no status", nil, ``},
		{
			"an empty status unsets every field", &batchv1.JobStatus{},
			`{"metadata":{"resourceVersion":"42","uid":"job-uid"},"status":{"active":null,"completedIndexes":null,"completionTime":null,"conditions":null,` +
				`"failed":null,"failedIndexes":null,"ready":null,"startTime":null,"succeeded":null,"terminating":null,"uncountedTerminatedPods":null}}`,
		},
		{
			"zero is not unset if the API distinguishes them",
			&batchv1.JobStatus{Active: 1, Ready: new(int32(0)), FailedIndexes: new(""), StartTime: new(After(0)), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}},
			`{"metadata":{"resourceVersion":"42","uid":"job-uid"},"status":{"active":1,"completedIndexes":null,"completionTime":null,"conditions":null,"failed":null,` +
				`"failedIndexes":"","ready":0,"startTime":"2026-05-01T12:00:00Z","succeeded":null,"terminating":null,"uncountedTerminatedPods":{"failed":["a"],"succeeded":null}}}`,
		},
	} {
		Same(t, tc.reason, string(jobstatus.Patch("job-uid", "42", tc.status)), tc.want)
	}
}

// The patch has every field under its own name, also those that later releases of the API add. Otherwise a field would
// stay when a status unsets it.
func TestPatch_everyField(t *testing.T) {
	statusesHold(t, &batchv1.JobStatus{}, FullStatus())
	statusesHold(t, FullStatus(), &batchv1.JobStatus{})
}

// Completed and failed indexes come from their own fields.
func TestReadIndexes(t *testing.T) {
	completed, failed := jobstatus.ReadIndexes(&batchv1.JobStatus{CompletedIndexes: "0,2", FailedIndexes: new("1,5")}, 5)
	Same(t, "completed; failed", completed.String()+"; "+failed.String(), "0,2; 1")
	completed, failed = jobstatus.ReadIndexes(&batchv1.JobStatus{CompletedIndexes: "0,2"}, 5)
	Same(t, "completed; failed", completed.String()+"; "+failed.String(), "0,2; ")
}
