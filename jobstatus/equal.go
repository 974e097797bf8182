package jobstatus

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Equal reports whether two statuses are equal in all fields, so that a change of any
// field is written. An empty list equals an absent list. A pointer to zero or to the empty
// string does not equal nil. For example, failedIndexes is nil for a Job that cannot have
// failed indexes.
func Equal(a, b *batchv1.JobStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	var none batchv1.UncountedTerminatedPods
	listsA, listsB := cmp.Or(a.UncountedTerminatedPods, &none), cmp.Or(b.UncountedTerminatedPods, &none)
	return a.Active == b.Active && a.Succeeded == b.Succeeded && a.Failed == b.Failed &&
		equalValue(a.Ready, b.Ready) && equalValue(a.Terminating, b.Terminating) &&
		a.CompletedIndexes == b.CompletedIndexes && equalValue(a.FailedIndexes, b.FailedIndexes) &&
		a.StartTime.Equal(b.StartTime) && a.CompletionTime.Equal(b.CompletionTime) &&
		slices.EqualFunc(a.Conditions, b.Conditions, equalCondition) &&
		slices.Equal(listsA.Succeeded, listsB.Succeeded) && slices.Equal(listsA.Failed, listsB.Failed)
}

func equalValue[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalCondition(a, b batchv1.JobCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastProbeTime.Equal(&b.LastProbeTime) && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}
