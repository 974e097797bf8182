package jobstatus

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Equal reports whether two statuses are equal in all fields, so that a change of any
// field is written. An empty list equals an absent list. A pointer to zero or to the empty
// string does not equal nil. For example, failedIndexes is nil for a Job that cannot have
// failed indexes.
func Equal(a, b *batchv1.JobStatus) bool { return lifecycle.Equal(a, b) }

// Patch returns the status as a JSON merge patch for the Job's status subresource. The
// patch names the UID and the resource version, so the API server rejects it if the Job
// has changed or is another Job. A field that is unset in the status is null in the patch,
// which unsets it.
//
// Pass the resource version of the Job that the status was decided on. For the second
// status write of a decision, pass the version that the first write returned. For a nil
// status Patch returns nil.
func Patch(uid types.UID, resourceVersion string, status *batchv1.JobStatus) []byte {
	return lifecycle.Patch(uid, resourceVersion, status)
}
