package lifecycle

import batchv1 "k8s.io/api/batch/v1"

// IsIndexed reports whether the Job has completion indexes.
func IsIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}
