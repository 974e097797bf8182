package tracking

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// AccountOf computes the next step of counting for all pods of a Job, as Count does.
func AccountOf(c Classifier, in AccountInputs, pods ...*corev1.Pod) Account {
	records := c.inOrder(pods)
	return c.account(in, records, c.done(&batchv1.JobStatus{}, records))
}

// ReadUncounted returns the lists of a status.
func ReadUncounted(lists *batchv1.UncountedTerminatedPods) Uncounted { return readUncounted(lists) }
