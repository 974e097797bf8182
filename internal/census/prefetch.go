package census

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/owner"
)

// stride is the number of pods that are read ahead together. What has been read
// of 16 to 64 pods stays in the first-level cache until it is needed.
const stride = 32

// prefetched is what has been read of some pods before they are looked at one by one.
//
// Nearly all of the time that a large Job takes goes by in waiting for memory: a
// pod is a dozen objects in as many places, each to be found through the one
// before. One pod at a time, each wait follows the last. Here short loops go
// through many pods, one step at a time; the loads of different pods do not
// depend on each other, and the processor waits for a dozen at once. At 10^5
// pods it takes half of the time.
type prefetched struct {
	index    [stride]string // the annotation with the completion index
	selected [stride]bool   // by the Job's selector
	touched  int            // without a use the loads would be left out
}

// read reads at most stride pods, of an Indexed Job the annotation with the key as well.
func (p *prefetched) read(pods []*corev1.Pod, owner *owner.Owner, indexed bool, key string) {
	p.use(touchPods(pods))
	p.use(touchLists(pods))
	p.use(touchTexts(pods))
	// What a look into a map finds is kept. The other steps are repeated when the
	// pod is read.
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

// use makes use of what was loaded.
func (p *prefetched) use(loaded int) { p.touched += loaded }

// touchPods loads the parts of the pods themselves.
func touchPods(pods []*corev1.Pod) (sum int) {
	for _, pod := range pods {
		sum += len(pod.UID) + len(pod.Finalizers) + len(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			sum++
		}
	}
	return sum
}

// touchLists loads what the pods point to.
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

// touchTexts loads what those lists point to.
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
