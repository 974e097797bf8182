// Package sidecar finds the statuses of a pod's sidecars: its restartable init containers. It looks names
// up in a set, so the time grows in proportion to the number of init containers.
package sidecar

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Statuses returns the statuses of the pod's sidecars, in the order of its status.
func Statuses(pod *corev1.Pod) iter.Seq[*corev1.ContainerStatus] {
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
