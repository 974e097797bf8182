package tracking

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/keys"
)

// NoIndex is the index of a pod without a valid index.
const NoIndex = keys.NoIndex

// Keys are the names that a controller uses on the pods of its Jobs. An empty name means
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

// HasFinalizer reports whether the pod carries the tracking finalizer.
func (k Keys) HasFinalizer(pod *corev1.Pod) bool { return keys.Keys(k).HasFinalizer(pod) }

// Gauge reports whether the gauge job_terminated_pod_tracking_finalizer counts the pod:
// the pod has terminated and still has the finalizer (KEP-2307 § Monitoring Pods with
// finalizers). It returns false for nil, so a caller can compare a pod before and after an
// event.
func (k Keys) Gauge(pod *corev1.Pod) bool {
	return k.HasFinalizer(pod) && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}

// IndexOf returns the completion index in the pod's annotation, or NoIndex if it is
// missing or invalid.
func (k Keys) IndexOf(pod *corev1.Pod) int32 { return keys.Keys(k).IndexOf(pod) }

// StripPatch returns the strategic merge patch that removes the finalizer from a pod. The
// patch names the UID, so it fails on another pod with the same name. For a nil pod it
// returns nil.
func (k Keys) StripPatch(pod *corev1.Pod) []byte {
	if pod == nil {
		return nil
	}
	return keys.Keys(k).StripPatch(pod)
}
