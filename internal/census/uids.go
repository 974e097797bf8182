package census

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// FirstRepeated returns the position of the first pod that has the UID of an earlier pod,
// or -1. Nil pods are skipped. Go seeds the hashes of its maps, so an input cannot contain
// UIDs chosen to collide.
func FirstRepeated(pods []*corev1.Pod) int {
	seen := make(map[types.UID]bool, len(pods))
	for i, pod := range pods {
		switch {
		case pod == nil:
		case seen[pod.UID]:
			return i
		default:
			seen[pod.UID] = true
		}
	}
	return -1
}
