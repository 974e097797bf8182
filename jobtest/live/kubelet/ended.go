package kubelet

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ended is how a pod has ended. It stays known when the pod is gone.
type Ended struct {
	Pod *corev1.Pod // as it was before
	// Phase is empty when the pod was deleted and has not ended.
	Phase     corev1.PodPhase
	Disrupted bool // by the condition DisruptionTarget
	// Tracked pods carried the finalizer of Jobs until they ended or were deleted.
	// They must be counted; those that their controller has let go before, to delete
	// them itself, must not be.
	Tracked bool
	// Doubtful pods lost the finalizer and were deleted unobserved, since the
	// server was restarted: in an unknown order.
	Doubtful bool
}

// Ended returns the end of every pod that has ended or was deleted.
func (k *Kubelet) Ended() map[types.UID]Ended {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.ended)
}

// ends remembers an end before it is written, for the answer may be lost. What it
// returns takes the answer: the pod as it has ended, which may have lost the
// finalizer just before, or nil if it was gone.
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

// deleted remembers that a pod was deleted; the lock is held. What it was before is
// nil when it is new.
func (k *Kubelet) deleted(before, pod *corev1.Pod) {
	if _, known := k.ended[pod.UID]; known || pod.DeletionTimestamp == nil {
		return
	}
	at := tracked(pod)
	k.ended[pod.UID] = Ended{Pod: pod, Tracked: at, Doubtful: !at && before != nil && before.UID == pod.UID && tracked(before)}
}

func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}
