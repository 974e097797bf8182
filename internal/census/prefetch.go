package census

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/owner"
)

// stride is the number of pods that are prefetched together. The loaded parts of 16 to 64
// pods stay in the first-level cache until they are needed.
const stride = 32

// prefetched is what has been loaded of some pods before they are read one by one.
//
// Reading a large Job takes nearly all of its time waiting for memory: a pod consists of a
// dozen objects in different places, each reached through a pointer in another. If pods are
// read one at a time, these waits follow each other. Here short loops load one level of
// pointers of many pods. The loads of different pods do not depend on each other, so the
// processor waits for a dozen of them at once. At 10^5 pods this halves the time.
type prefetched struct {
	index    [stride]string // the index annotation
	selected [stride]bool   // the Job's selector matches
	touched  int            // uses the loaded values, or the compiler would drop the loads
}

// read loads at most stride pods. In an Indexed Job, key is the name of the index
// annotation.
func (p *prefetched) read(pods []*corev1.Pod, owner *owner.Owner, indexed bool, key string) {
	p.use(touchPods(pods))
	p.use(touchLists(pods))
	p.use(touchTexts(pods))
	// The results of map lookups are kept. The other steps are repeated when the pod is
	// read.
	if indexed {
		for i, pod := range pods {
			p.index[i] = pod.Annotations[key]
			p.use(first(p.index[i]))
		}
	}
	for i, pod := range pods {
		p.selected[i] = owner.Selects(pod.Labels)
	}
}

// use makes the compiler keep the loads.
func (p *prefetched) use(loaded int) { p.touched += loaded }

// touchPods loads the pod objects.
func touchPods(pods []*corev1.Pod) (sum int) {
	for _, pod := range pods {
		sum += len(pod.UID) + len(pod.Finalizers) + len(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			sum++
		}
	}
	return sum
}

// touchLists loads the objects that the pods point to.
func touchLists(pods []*corev1.Pod) (sum int) {
	for _, pod := range pods {
		sum += len(pod.Labels) + len(pod.Annotations)
		if len(pod.UID) > 0 {
			sum += int(pod.UID[0])
		}
		if len(pod.OwnerReferences) > 0 {
			sum += len(pod.OwnerReferences[0].UID)
		}
		if len(pod.Finalizers) > 0 {
			sum += len(pod.Finalizers[0])
		}
		switch {
		case pod.Status.Phase == corev1.PodFailed:
			if len(pod.Status.ContainerStatuses) > 0 {
				sum += len(pod.Status.ContainerStatuses[0].Name)
			}
		case len(pod.Status.Conditions) > 0:
			sum += len(pod.Status.Conditions[0].Type)
		}
	}
	return sum
}

// touchTexts loads the objects that those point to.
func touchTexts(pods []*corev1.Pod) (sum int) {
	for _, pod := range pods {
		sum += first(pod.Namespace)
		if len(pod.OwnerReferences) > 0 {
			ref := &pod.OwnerReferences[0]
			sum += first(string(ref.UID))
			if ref.Controller != nil && *ref.Controller {
				sum++
			}
		}
		if len(pod.Finalizers) > 0 {
			sum += first(pod.Finalizers[0])
		}
		if pod.Status.Phase != corev1.PodFailed {
			for i := range pod.Status.Conditions {
				if c := &pod.Status.Conditions[i]; len(c.Type) == len(corev1.PodReady) {
					sum += first(string(c.Type))
				}
			}
		} else if len(pod.Status.ContainerStatuses) > 0 {
			if end := pod.Status.ContainerStatuses[0].State.Terminated; end != nil {
				sum += end.FinishedAt.Nanosecond()
			}
		}
	}
	return sum
}

// first returns the first byte of a text.
func first(text string) int {
	if text == "" {
		return 0
	}
	return int(text[0])
}
