package lifecycle

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newCondition returns a condition whose times are now.
func newCondition(t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string,
	now time.Time) batchv1.JobCondition {
	at := metav1.NewTime(now)
	return batchv1.JobCondition{Type: t, Status: status, LastProbeTime: at, LastTransitionTime: at, Reason: reason,
		Message: message}
}

// set returns the conditions with the new one in place of the first of its type, or
// appended. A False condition is not appended. changed says whether the list differs in
// more than times. set does not change the list that it is given.
func set(conditions []batchv1.JobCondition, c batchv1.JobCondition) (list []batchv1.JobCondition, changed bool) {
	i := slices.IndexFunc(conditions, func(old batchv1.JobCondition) bool { return old.Type == c.Type })
	if i < 0 {
		if c.Status == corev1.ConditionFalse {
			return conditions, false
		}
		return append(slices.Clip(conditions), c), true
	}
	if old := conditions[i]; old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
		return conditions, false
	}
	list = slices.Clone(conditions)
	list[i] = c
	return list, true
}
