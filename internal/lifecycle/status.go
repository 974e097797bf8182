package lifecycle

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
)

// ReadIndexes returns the completed and the failed indexes of a status, read as the Job
// controller does. An index may be in both sets.
func ReadIndexes(status *batchv1.JobStatus, completions int32) (completed, failed indexset.Set) {
	completed, _ = indexset.ParseDamaged(status.CompletedIndexes, completions)
	if status.FailedIndexes != nil {
		failed, _ = indexset.ParseDamaged(*status.FailedIndexes, completions)
	}
	return completed, failed
}

// StatusPatch returns a JSON merge patch with the fields of a status, for one version of a Job.
func StatusPatch(uid types.UID, resourceVersion string, fields any) []byte {
	type meta struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	// cannot fail for a status
	b, _ := json.Marshal(map[string]any{"metadata": meta{uid, resourceVersion}, "status": fields})
	return b
}
