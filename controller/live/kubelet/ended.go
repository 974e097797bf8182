package kubelet

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ended describes the end of a pod. The kubelet keeps it after the pod is gone.
type Ended struct {
	Pod *corev1.Pod // the last version before its end
	// Phase is empty if the pod was deleted before it ended.
	Phase     corev1.PodPhase
	Disrupted bool // it had the condition DisruptionTarget
	// Tracked says that the pod had the finalizer of Jobs until it ended or was deleted.
	// Such a pod must be counted. A pod whose finalizer the controller removed first, to
	// delete the pod itself, must not be counted.
	Tracked bool
	// Doubtful says that the pod lost its finalizer and was deleted, or is gone, while the server was
	// restarted, in an unknown order.
	Doubtful bool
}

// Ended returns the ends of all pods that have ended or were deleted.
func (k *Kubelet) Ended() map[types.UID]Ended {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.ended)
}

// ends records an end before it is written, because the answer may be lost. It returns a
// function for the answer: the ended pod, which may have lost its finalizer just before, or
// nil if it was gone.
func (k *Kubelet) ends(pod *corev1.Pod, status corev1.PodStatus) func(answer *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.ended[pod.UID]
	end := before
	if !known {
		end = Ended{Pod: pod, Tracked: tracked(pod)}
	}
	end.Phase = status.Phase
	end.Disrupted = slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	k.ended[pod.UID] = end
	return func(answer *corev1.Pod) {
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case answer == nil && known:
			k.ended[pod.UID] = before
		case answer == nil:
			delete(k.ended, pod.UID)
		case !known:
			end.Tracked = tracked(answer)
			k.ended[pod.UID] = end
		}
	}
}

// deleted records that a pod was deleted. Before is nil if the pod is new. The caller holds
// the lock.
func (k *Kubelet) deleted(before, pod *corev1.Pod) {
	if _, known := k.ended[pod.UID]; known || pod.DeletionTimestamp == nil {
		return
	}
	at := tracked(pod)
	k.ended[pod.UID] = Ended{Pod: pod, Tracked: at,
		Doubtful: !at && before != nil && before.UID == pod.UID && tracked(before)}
}

func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}
