package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// step is the next thing to do with a pod.
type step uint8

const (
	rest   step = iota // wait until the pod changes
	bind               // bind it to a node
	run                // from Pending to Running
	end                // to a terminal phase, by itself
	stop               // to a terminal phase, because it is deleted
	remove             // delete it without a grace period
)

// next returns the next step of a pod, and the delay after the previous one.
func next(pod *corev1.Pod, life Life) (step, time.Duration) {
	ended := cluster.HasEnded(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return nextOfDeleted(pod, life, ended)
	case ended:
		return rest, 0
	case pod.Status.Phase == corev1.PodRunning:
		if life.Forever {
			return rest, 0
		}
		return end, life.Running
	case len(pod.Spec.SchedulingGates) > 0:
		return rest, 0
	case pod.Spec.NodeName == "" && !life.Direct:
		return bind, 0
	case life.Stuck:
		return rest, 0
	case life.Direct && !life.Forever:
		return end, life.Pending + life.Running
	}
	return run, life.Pending
}

// recovery is the delay before the kubelet completes a deletion that the server began.
const recovery = time.Second

func nextOfDeleted(pod *corev1.Pod, life Life, ended bool) (step, time.Duration) {
	atOnce := pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds == 0
	switch {
	case atOnce && len(pod.Finalizers) == 0:
		// The server writes the grace period of zero first, and removes the pod with a second
		// write. It was stopped in between if the pod remains.
		return remove, recovery
	case ended && !atOnce:
		return remove, 0
	case ended || life.Undying:
		return rest, 0
	case pod.Spec.NodeName == "" && pod.Status.Phase != corev1.PodRunning:
		return rest, 0 // it is on no node
	}
	return stop, life.Stopping
}
