package tracking

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/keys"
)

// NoIndex is the index of a pod that has none that can be read.
const NoIndex = keys.NoIndex

// Keys are the names of what a controller puts on the pods of its Jobs. An empty one is
// that of Kubernetes, so the zero Keys are those of the built-in Job controller.
type Keys struct {
	// Finalizer keeps a pod from vanishing before it is counted. That of Kubernetes is
	// batch.kubernetes.io/job-tracking.
	Finalizer string
	// Index is the annotation and the label with the completion index:
	// batch.kubernetes.io/job-completion-index.
	Index string
	// IndexVariable is the environment variable with the completion index:
	// JOB_COMPLETION_INDEX.
	IndexVariable string
	// FailureCount is the annotation with the failures of the index that count:
	// batch.kubernetes.io/job-index-failure-count.
	FailureCount string
	// IgnoredFailureCount is the annotation with those that an Ignore rule took out of
	// the count: batch.kubernetes.io/job-index-ignored-failure-count.
	IgnoredFailureCount string
	// ControllerUID and JobName are labels that the pods of a Job without a selector
	// get: batch.kubernetes.io/controller-uid and batch.kubernetes.io/job-name. In
	// place of each, Kubernetes sets one without the prefix as well.
	ControllerUID string
	JobName       string
}

// HasFinalizer reports whether the pod carries the tracking finalizer.
func (k Keys) HasFinalizer(pod *corev1.Pod) bool { return keys.Keys(k).HasFinalizer(pod) }

// Gauge reports whether the pod is one that the gauge
// job_terminated_pod_tracking_finalizer counts: it has terminated and still carries the
// finalizer (KEP-2307 § Monitoring Pods with finalizers). Nil counts as no pod, so that
// a caller can compare a pod before and after an event.
func (k Keys) Gauge(pod *corev1.Pod) bool {
	return k.HasFinalizer(pod) && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}

// IndexOf returns the completion index that the pod's annotation names, or NoIndex when
// there is none or it cannot be read.
func (k Keys) IndexOf(pod *corev1.Pod) int32 { return keys.Keys(k).IndexOf(pod) }

// StripPatch returns the strategic merge patch that removes the finalizer from a pod. It
// names the UID, so that it fails on another pod that took the same name. For a nil pod
// there is no patch.
func (k Keys) StripPatch(pod *corev1.Pod) []byte { return keys.Keys(k).StripPatch(pod) }
