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

// loadFinishes reads what the finish times of the failed pods need, in the same way.
func loadFinishes(of []vacancy) (sum int) {
	pods := make([]*corev1.Pod, 0, stride)
	for _, v := range of {
		if v.failed != nil {
			pods = append(pods, v.failed.Pod)
		}
	}
	for _, pod := range pods {
		sum += len(pod.Status.Phase) + len(pod.Status.ContainerStatuses) + len(pod.Status.InitContainerStatuses)
	}
	for _, pod := range pods {
		for i := range pod.Status.ContainerStatuses {
			if pod.Status.ContainerStatuses[i].State.Terminated != nil {
				sum++
			}
		}
	}
	for _, pod := range pods {
		for i := range pod.Status.ContainerStatuses {
			if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil {
				sum += end.FinishedAt.Nanosecond()
			}
		}
	}
	return sum
}
