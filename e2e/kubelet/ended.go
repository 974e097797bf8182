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
	Pod       *corev1.Pod // as it was before
	Phase     corev1.PodPhase
	Disrupted bool // by the condition DisruptionTarget
}

// Tracked reports whether the pod carried the finalizer of Jobs to its end. Such a
// pod must be counted; one that its controller has let go before must not be.
func (e Ended) Tracked() bool {
	return slices.Contains(e.Pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// Ended returns the end of every pod that has ended.
func (k *Kubelet) Ended() map[types.UID]Ended {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.ended)
}

// ends remembers an end before it is written, for the answer may be lost.
func (k *Kubelet) ends(pod *corev1.Pod, status corev1.PodStatus) {
	disrupted := slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended[pod.UID] = Ended{pod, status.Phase, disrupted}
}

// neverEnded takes that back: the pod was gone before.
func (k *Kubelet) neverEnded(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ended, pod.UID)
}
