package census

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FirstRepeated returns the position of the first pod that has the UID of an earlier pod,
// or -1. Nil pods are skipped.
func FirstRepeated(pods []*corev1.Pod) int {
	seen := make(uids, len(pods))
	for i, pod := range pods {
		if pod != nil && !seen.enter(pod.UID) {
			return i
		}
	}
	return -1
}

// uids is a set of UIDs. Go seeds the hashes of its maps, so an input cannot contain UIDs
// chosen to collide.
type uids map[types.UID]struct{}

// enter reports whether the UID is new, and adds it.
func (u uids) enter(uid types.UID) bool {
	before := len(u)
	u[uid] = struct{}{}
	return len(u) > before
}
