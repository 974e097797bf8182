package tracking

import batchv1 "k8s.io/api/batch/v1"

// ReadUncounted returns the lists of a status.
func ReadUncounted(lists *batchv1.UncountedTerminatedPods) Uncounted { return readUncounted(lists) }
