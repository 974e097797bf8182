package tracking

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Roll is what a census does not hold of the pods that were read into it.
type Roll struct {
	// Claims are the pods that the Job is to adopt, release or free, in the order
	// in which they were given.
	Claims []Related
	// Foreign is the number of foreign pods.
	Foreign int
	// Broken says that a pod is nil, or has no UID, or one that another has.
	// Nothing else is said then, and the census holds some of the pods.
	Broken bool
}

// Related is a pod and what it is to the Job.
type Related struct {
	Pod      *corev1.Pod
	Relation Relation
}

// Read reads into the census those of the pods that are the Job's own, or will
// be once they are adopted. The census is to have been empty.
func (c *Census) Read(owner Owner, pods []*corev1.Pod) Roll {
	if slices.Contains(pods, nil) {
		return Roll{Broken: true}
	}
	var roll Roll
	seen := make(uids, len(pods))
	var ahead ahead
	for at := 0; at < len(pods); at += stride {
		group := pods[at:min(at+stride, len(pods))]
		ahead.read(group, &owner, c.lens.Indexed)
		for i, pod := range group {
			if pod.UID == "" || !seen.enter(pod.UID) {
				return Roll{Broken: true}
			}
			relation := owner.relation(pod, ahead.selected[i])
			switch relation {
			case Foreign:
				roll.Foreign++
			case Owned, Adoptable:
				c.add(pod, relation == Adoptable, ahead.index[i])
			}
			if relation != Foreign && relation != Owned {
				roll.Claims = append(roll.Claims, Related{pod, relation})
			}
		}
	}
	return roll
}
