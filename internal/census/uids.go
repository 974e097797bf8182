package census

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FirstRepeated returns the position of the first pod whose UID an earlier pod
// has, or -1. Nil pods are passed over.
func FirstRepeated(pods []*corev1.Pod) int {
	seen := make(uids, len(pods))
	for i, pod := range pods {
		if pod != nil && !seen.enter(pod.UID) {
			return i
		}
	}
	return -1
}

// uids is a set of UIDs. Go seeds the hash of its maps, so no input can
// choose UIDs that collide.
type uids map[types.UID]struct{}

// enter reports whether the UID is new, and adds it.
func (u uids) enter(uid types.UID) bool {
	before := len(u)
	u[uid] = struct{}{}
	return len(u) > before
}
