package tracking

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// NoIndex is the index of a pod without a valid index.
const NoIndex int32 = -1

// Keys holds the names that a controller uses on the pods of its Jobs. An empty name means
// that of Kubernetes, so the zero Keys are those of the built-in Job controller.
type Keys struct {
	// Finalizer blocks the deletion of a pod until it is counted. The default is
	// batch.kubernetes.io/job-tracking.
	Finalizer string
	// Index is the annotation and the label with the completion index:
	// batch.kubernetes.io/job-completion-index.
	Index string
	// IndexVariable is the environment variable with the completion index:
	// JOB_COMPLETION_INDEX.
	IndexVariable string
	// FailureCount is the annotation with the number of counted failures of the index:
	// batch.kubernetes.io/job-index-failure-count.
	FailureCount string
	// IgnoredFailureCount is the annotation with the number of failures that an Ignore
	// rule excluded from the count: batch.kubernetes.io/job-index-ignored-failure-count.
	IgnoredFailureCount string
	// ControllerUID and JobName are labels of the pods of a Job without a selector:
	// batch.kubernetes.io/controller-uid and batch.kubernetes.io/job-name. For each that
	// keeps its default name, the pods also get the label without the prefix.
	ControllerUID string
	JobName       string
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

// The legacy labels have no prefix. They are set in addition to the labels of Kubernetes.
const (
	legacyControllerUID = "controller-uid"
	legacyJobName       = "job-name"
)

// Labels returns the labels that the API server adds to the template of a Job without a
// selector.
func (k Keys) Labels(job *batchv1.Job) map[string]string {
	names, uid, name := k.WithDefaults(), string(job.UID), job.Name
	labels := map[string]string{names.ControllerUID: uid, names.JobName: name}
	if k.ControllerUID == "" {
		labels[legacyControllerUID] = uid
	}
	if k.JobName == "" {
		labels[legacyJobName] = name
	}
	return labels
}

// HasFinalizer reports whether the pod carries the tracking finalizer.
func (k Keys) HasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, cmp.Or(k.Finalizer, batchv1.JobTrackingFinalizer))
}

// Gauge reports whether the gauge job_terminated_pod_tracking_finalizer counts the pod:
// the pod has terminated and still has the finalizer (KEP-2307 § Monitoring Pods with
// finalizers). It returns false for nil, so a caller can compare a pod before and after an
// event.
func (k Keys) Gauge(pod *corev1.Pod) bool {
	return k.HasFinalizer(pod) && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}

// IndexOf returns the completion index in the pod's annotation, or NoIndex if it is
// missing, invalid or above the largest int64. An index above the largest int32 is read as
// the largest int32.
func (k Keys) IndexOf(pod *corev1.Pod) int32 {
	if pod == nil {
		return NoIndex
	}
	return parseIndex(pod.Annotations[cmp.Or(k.Index, batchv1.JobCompletionIndexAnnotation)])
}

func parseIndex(text string) int32 {
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
	return ok && parseIndex(label) != k.IndexOf(pod)
}
