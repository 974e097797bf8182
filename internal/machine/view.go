package machine

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// View is what the caller's caches hold for a Job. The Machine does not change it.
type View struct {
	// Job is nil when the cache has no Job of that name.
	Job *batchv1.Job
	// Pods are the pods that the Job controls and the pods of its namespace that have
	// no controller.
	Pods []*corev1.Pod
	// Fed says that the pods are those of the last list, with the changes passed to
	// Feed since. Pods is ignored then.
	Fed bool
	// Now is the one reading of the clock.
	Now time.Time
	// JobsVersion and PodsVersion are the resource versions up to which the caches were
	// complete before Job and Pods were read from them. Without them every sync reads
	// live.
	JobsVersion, PodsVersion string
	// Barrier is the version of a consistent read of pods that the process requested
	// after it acquired its lease.
	Barrier string
	// StatusVersion is the version of the object that holds the status, if that is not
	// the Job.
	StatusVersion string
}

// version returns the version of the object that holds the status.
func (v *View) version() string {
	if v.StatusVersion != "" || v.Job == nil {
		return v.StatusVersion
	}
	return v.Job.ResourceVersion
}

// fresh reports whether the caches show every write before the barrier, and are not older
// than when they were last used.
func (m *Memory) fresh(v *View) bool {
	jobs, pods := newest(m.JobsFloor, v.Barrier), newest(m.PodsFloor, v.Barrier)
	return jobs != "" && pods != "" &&
		v.JobsVersion != "" && !older(v.JobsVersion, jobs) &&
		v.PodsVersion != "" && !older(v.PodsVersion, pods)
}

// accept raises the floors to the versions of a view, so that no older view is used later.
func (m *Memory) accept(v *View) {
	m.JobsFloor, m.PodsFloor = newest(m.JobsFloor, v.JobsVersion), newest(m.PodsFloor, v.PodsVersion)
}

// adopted raises the floor to the version in the answer to an adoption, so that no older view
// is used. Such a view shows the pod without its owner and finalizer. If the Job is being
// deleted by then, it adopts no pods, and would treat the pod as counted and released.
func (m *Memory) adopted(x *exchange) {
	if pod := x.meta(); pod != nil {
		m.PodsFloor = newest(m.PodsFloor, pod.GetResourceVersion())
	}
}
