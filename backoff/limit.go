package backoff

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// defaultLimit is the backoffLimit that the API server sets by default.
const defaultLimit int32 = 6

// Target says whether a backoff limit counts the failures of the Job or of each index.
type Target string

const (
	// TargetJob counts the failures of all pods of a Job together. The empty
	// Target means the same.
	TargetJob Target = "Job"
	// TargetIndex counts the failures of each index separately, in addition to those of
	// the Job.
	TargetIndex Target = "Index"
)

// Limit says how many failures end a Job or an index.
type Limit struct {
	// Target is TargetIndex if backoffLimitPerIndex is set.
	Target Target
	// PerJob is the backoffLimit.
	PerJob int32
	// PerIndex is the backoffLimitPerIndex. It is ignored without TargetIndex.
	PerIndex int32
}

// LimitOf returns the limit of a Job. If backoffLimit is nil, it uses the default of the
// API server: 6, or MaxInt32 with backoffLimitPerIndex. A nil spec has the limit of an
// empty one.
func LimitOf(spec *batchv1.JobSpec) Limit {
	l := Limit{Target: TargetJob, PerJob: defaultLimit}
	if spec == nil {
		return l
	}
	if spec.BackoffLimitPerIndex != nil {
		l = Limit{Target: TargetIndex, PerJob: math.MaxInt32, PerIndex: *spec.BackoffLimitPerIndex}
	}
	if spec.BackoffLimit != nil {
		l.PerJob = *spec.BackoffLimit
	}
	return l
}

// JobExceeded reports whether this number of failed pods ends the Job: it is above PerJob.
func (l Limit) JobExceeded(failed int32) bool { return failed > l.PerJob }

// IndexExhausted reports whether an index has failed for good when another counted failure
// occurs. failures is the number before that failure: the annotation
// batch.kubernetes.io/job-index-failure-count of the pod that failed.
func (l Limit) IndexExhausted(failures int32) bool {
	return l.Target == TargetIndex && failures >= l.PerIndex
}

// RestartsExceeded reports whether container restarts end the Job, given the sum of
// [Restarts] over all its pods. It applies only to a Job whose pods have the restart
// policy OnFailure.
//
// The result is approximate: restarts of pods that are gone or finished do not count, the
// kubelet may restart a container any number of times between two syncs, and the limits 0
// and 1 have the same effect (k#54870, k#67859).
func (l Limit) RestartsExceeded(sum int64) bool {
	return sum > 0 && sum >= int64(l.PerJob)
}

// Restarts returns the number of container restarts of a pod, including init containers.
// Restarts count only while the pod is Running or Pending. The sum cannot overflow, unlike
// that of Kubernetes 1.37.
func Restarts(pod *corev1.Pod) int64 {
	if pod == nil || pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
		return 0
	}
	var sum int64
	for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.InitContainerStatuses,
		pod.Status.ContainerStatuses} {
		for i := range statuses {
			sum += int64(statuses[i].RestartCount)
		}
	}
	return sum
}
