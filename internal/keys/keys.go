package keys

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Keys are the names of the finalizer, labels, annotations and the variable that a
// controller sets on its pods. See tracking.Keys.
type Keys struct {
	Finalizer           string
	Index               string
	IndexVariable       string
	FailureCount        string
	IgnoredFailureCount string
	ControllerUID       string
	JobName             string
}

// WithDefaults returns the keys with empty ones replaced by those of Kubernetes.
func (k Keys) WithDefaults() Keys {
	return Keys{
		Finalizer:           cmp.Or(k.Finalizer, batchv1.JobTrackingFinalizer),
		Index:               cmp.Or(k.Index, batchv1.JobCompletionIndexAnnotation),
		IndexVariable:       cmp.Or(k.IndexVariable, "JOB_COMPLETION_INDEX"),
		FailureCount:        cmp.Or(k.FailureCount, batchv1.JobIndexFailureCountAnnotation),
		IgnoredFailureCount: cmp.Or(k.IgnoredFailureCount, batchv1.JobIndexIgnoredFailureCountAnnotation),
		ControllerUID:       cmp.Or(k.ControllerUID, batchv1.ControllerUidLabel),
		JobName:             cmp.Or(k.JobName, batchv1.JobNameLabel),
	}
}

// HasFinalizer reports whether the pod carries the finalizer.
func (k Keys) HasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, k.WithDefaults().Finalizer)
}

// NoIndex is the index of a pod without a valid index annotation.
const NoIndex int32 = -1

// IndexOf returns the completion index in the pod's annotation, or NoIndex.
func (k Keys) IndexOf(pod *corev1.Pod) int32 {
	if pod == nil {
		return NoIndex
	}
	return ParseIndex(pod.Annotations[k.WithDefaults().Index])
}

// ParseIndex parses an index. It returns NoIndex if the text is empty or not an index. An
// index above the largest int32 is read as the largest int32.
func ParseIndex(text string) int32 {
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil || i < 0 {
		return NoIndex
	}
	return int32(min(i, math.MaxInt32))
}

// IndexConflict reports whether the pod's label has another index than its annotation. The
// annotation decides. A different label shows that one of the two was edited (k#140839).
func (k Keys) IndexConflict(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	label, ok := pod.Labels[k.WithDefaults().Index]
	return ok && ParseIndex(label) != k.IndexOf(pod)
}
