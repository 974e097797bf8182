package lifecycle_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
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
			`{"metadata":{"uid":"job-uid","resourceVersion":"42"},"status":{"conditions":null,"startTime":null,"completionTime":null,` +
				`"active":null,"succeeded":null,"failed":null,"terminating":null,"completedIndexes":null,"failedIndexes":null,"uncountedTerminatedPods":null,"ready":null}}`,
		},
		{
			"zero is not unset if the API distinguishes them",
			&batchv1.JobStatus{Active: 1, Ready: PtrTo[int32](0), FailedIndexes: PtrTo(""), StartTime: PtrTo(After(0)), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}},
			`{"metadata":{"uid":"job-uid","resourceVersion":"42"},"status":{"conditions":null,"startTime":"2026-05-01T12:00:00Z","completionTime":null,` +
				`"active":1,"succeeded":null,"failed":null,"terminating":null,"completedIndexes":null,"failedIndexes":"","uncountedTerminatedPods":{"succeeded":null,"failed":["a"]},"ready":0}}`,
		},
	} {
		Same(t, tc.reason, string(lifecycle.Patch("job-uid", "42", tc.status)), tc.want)
	}
}
