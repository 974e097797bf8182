package lifecycle

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MergePatch returns a JSON merge patch with the fields of a status, for one version of a Job.
func MergePatch(uid types.UID, resourceVersion string, fields any) []byte {
	type meta struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	// cannot fail for a status
	b, _ := json.Marshal(map[string]any{"metadata": meta{uid, resourceVersion}, "status": fields})
	return b
}

// Patch returns a status as a JSON merge patch. See jobstatus.Patch.
func Patch(uid types.UID, resourceVersion string, status *batchv1.JobStatus) []byte {
	if status == nil {
		return nil
	}
	return MergePatch(uid, resourceVersion, statusFields{
		Conditions:              status.Conditions,
		StartTime:               status.StartTime,
		CompletionTime:          status.CompletionTime,
		Active:                  orNull(status.Active),
		Succeeded:               orNull(status.Succeeded),
		Failed:                  orNull(status.Failed),
		Terminating:             status.Terminating,
		CompletedIndexes:        orNull(status.CompletedIndexes),
		FailedIndexes:           status.FailedIndexes,
		UncountedTerminatedPods: uncountedFieldsOf(status.UncountedTerminatedPods),
		Ready:                   status.Ready,
	})
}

// statusFields holds the fields of a JobStatus without omitempty, because a merge patch does
// not change a field that it does not contain.
type statusFields struct {
	Conditions              []batchv1.JobCondition `json:"conditions"`
	StartTime               *metav1.Time           `json:"startTime"`
	CompletionTime          *metav1.Time           `json:"completionTime"`
	Active                  *int32                 `json:"active"`
	Succeeded               *int32                 `json:"succeeded"`
	Failed                  *int32                 `json:"failed"`
	Terminating             *int32                 `json:"terminating"`
	CompletedIndexes        *string                `json:"completedIndexes"`
	FailedIndexes           *string                `json:"failedIndexes"`
	UncountedTerminatedPods *uncountedFields       `json:"uncountedTerminatedPods"`
	Ready                   *int32                 `json:"ready"`
}

type uncountedFields struct {
	Succeeded []types.UID `json:"succeeded"`
	Failed    []types.UID `json:"failed"`
}

func uncountedFieldsOf(u *batchv1.UncountedTerminatedPods) *uncountedFields {
	if u == nil {
		return nil
	}
	return &uncountedFields{Succeeded: u.Succeeded, Failed: u.Failed}
}

// orNull returns nil for the zero value, which the API omits from a status.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
