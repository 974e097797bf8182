package tracking

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Leave is how a Job leaves tracking behind, when its controller is replaced by
// one that does not track with finalizers (KEP-2307 § Upgrade / Downgrade). A
// controller of Kubernetes 1.22 to 1.26 goes by the annotation of the Job that
// has the name of the finalizer: where it is set, it is to be removed as well.
type Leave struct {
	// Strip are the pods whose finalizer is removed, whatever their state. They
	// are removed first: a status without lists must not meet pods that a
	// controller would count again.
	Strip []*corev1.Pod
	// Status is the Job's status with uncountedTerminatedPods unset. Pods that
	// stood in the lists are not added to the counters: the legacy algorithm
	// counts the pods that it sees.
	Status *batchv1.JobStatus
}

// LeaveTracking returns what to do for a Job and the pods that it owns.
func LeaveTracking(job *batchv1.Job, owned []*corev1.Pod) Leave {
	var leave Leave
	if job != nil {
		leave.Status = job.Status.DeepCopy()
		leave.Status.UncountedTerminatedPods = nil
	}
	for _, pod := range owned {
		if HasFinalizer(pod) {
			leave.Strip = append(leave.Strip, pod)
		}
	}
	return leave
}
