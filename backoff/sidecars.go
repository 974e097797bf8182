package backoff

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Sidecars returns the statuses of the pod's sidecars, its restartable init containers, in the order of its
// status. It looks names up in a set, so the time grows in proportion to the number of init containers.
func Sidecars(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
	return func(yield func(*corev1.ContainerStatus) bool) {
		statuses := pod.Status.InitContainerStatuses
		if len(statuses) == 0 {
			return
		}
		sidecars := make(map[string]bool, len(pod.Spec.InitContainers))
		for i := range pod.Spec.InitContainers {
			if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil &&
				*c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				sidecars[c.Name] = true
			}
		}
		for i := range statuses {
			if sidecars[statuses[i].Name] && !yield(&statuses[i]) {
				return
			}
		}
	}
}
