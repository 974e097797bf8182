package census

import corev1 "k8s.io/api/core/v1"

// stride is the number of pods that are loaded together. What is loaded of 16 to 64 pods
// stays in the first-level cache until it is needed.
const stride = 32

// load reads what the classification of some pods needs, one level of pointers after the
// other. A pod consists of a dozen objects in different places, and reading a large Job takes
// nearly all of its time waiting for memory. The loads of different pods do not depend on
// each other, so the processor waits for many of them at once. The result makes the compiler
// keep the loads.
func load(pods []*corev1.Pod) (sum int) {
	for _, pod := range pods {
		sum += len(pod.UID) + len(pod.Finalizers) + len(pod.Status.Phase) + len(pod.Status.Conditions)
	}
	for _, pod := range pods {
		sum += len(pod.Labels) + len(pod.Annotations)
		if len(pod.UID) > 0 {
			sum += int(pod.UID[0])
		}
		for i := range pod.OwnerReferences {
			sum += len(pod.OwnerReferences[i].UID)
		}
		for i := range pod.Finalizers {
			sum += len(pod.Finalizers[i])
		}
		for i := range pod.Status.Conditions {
			sum += len(pod.Status.Conditions[i].Type)
		}
		for i := range pod.Status.ContainerStatuses {
			sum += len(pod.Status.ContainerStatuses[i].Name)
		}
	}
	return sum
}
