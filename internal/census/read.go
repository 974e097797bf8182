package census

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/owner"
)

// Summary is what a census does not hold of the pods that were read into it.
type Summary struct {
	// Claims are the pods that the Job is to adopt, release or free, in the order
	// in which they were given.
	Claims []Claim
	// Foreign is the number of foreign pods.
	Foreign int
	// Broken says that a pod is nil, or has no UID, or one that another has.
	// Nothing else is said then, and the census holds some of the pods.
	Broken bool
}

// Claim is a pod and what it is to the Job.
type Claim struct {
	Pod      *corev1.Pod
	Relation owner.Relation
}

// Read reads into the census those of the pods that are the Job's own, or will
// be once they are adopted. The census must be empty.
func (c *Census) Read(job owner.Owner, pods []*corev1.Pod) Summary {
	if slices.Contains(pods, nil) {
		return Summary{Broken: true}
	}
	var summary Summary
	seen := make(uids, len(pods))
	var ahead prefetched
	for at := 0; at < len(pods); at += stride {
		group := pods[at:min(at+stride, len(pods))]
		ahead.read(group, &job, c.classifier.Indexed, c.classifier.Keys.Index)
		for i, pod := range group {
			if pod.UID == "" || !seen.enter(pod.UID) {
				return Summary{Broken: true}
			}
			relation := job.RelationOf(pod, ahead.selected[i])
			switch relation {
			case owner.Foreign:
				summary.Foreign++
			case owner.Owned, owner.Adoptable:
				c.add(pod, relation == owner.Adoptable, ahead.index[i])
			}
			if relation != owner.Foreign && relation != owner.Owned {
				summary.Claims = append(summary.Claims, Claim{pod, relation})
			}
		}
	}
	return summary
}
