package lifecycle_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var conditionTypes = []batchv1.JobConditionType{
	batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, "Other",
}

// drawConditions draws conditions in any order, some types more than once.
func drawConditions(t *rapid.T) []batchv1.JobCondition {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) batchv1.JobCondition {
		c := Stated(rapid.SampledFrom(conditionTypes).Draw(t, "type"),
			rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, ""}).Draw(t, "status"))
		c.Reason = rapid.SampledFrom([]string{"A", "B"}).Draw(t, "reason")
		return c
	}), 0, 5).Draw(t, "conditions")
}

// drawIndexes draws a set of indexes below 8, as a map and as a Set.
func drawIndexes(t *rapid.T, label string) (map[int]bool, indexset.Set) {
	m, s := map[int]bool{}, indexset.Builder{}
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, 7), 0, 6).Draw(t, label) {
		m[i] = true
		s.Add(int32(i))
	}
	return m, s.Set()
}
