package podtest

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
)

// OneIn draws true in one of n cases.
func OneIn(t *rapid.T, n int, label string) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

// DrawConditions draws conditions in any order, some types more than once. Half of them are True.
func DrawConditions(t *rapid.T) (all []batchv1.JobCondition) {
	statuses := [...]corev1.ConditionStatus{"True", "False", "True", "Unknown", "True", ""}
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, 71), 0, 5).Draw(t, "conditions") {
		c := Stated(ConditionTypes()[n%6], statuses[n/6%6])
		c.Reason = [...]string{"A", "B"}[n/36%2]
		all = append(all, c)
	}
	return all
}

// DrawIndexes draws a set of indexes below 8, as a map and as a Set.
func DrawIndexes(t *rapid.T, label string) (map[int]bool, indexset.Set) {
	m, s := map[int]bool{}, indexset.Builder{}
	for _, i := range rapid.SliceOfN(rapid.IntRange(0, 7), 0, 6).Draw(t, label) {
		m[i] = true
		s.Add(int32(i))
	}
	return m, s.Set()
}
