package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podStore holds pods in the order in which they were added. The zero podStore is empty.
type podStore struct {
	place map[types.UID]int
	pods  []*corev1.Pod // has nil gaps, which drop removes when they are the majority
}

func (s *podStore) get(uid types.UID) *corev1.Pod {
	if at, ok := s.place[uid]; ok {
		return s.pods[at]
	}
	return nil
}

// put adds a pod, or replaces its earlier version.
func (s *podStore) put(pod *corev1.Pod) {
	if at, ok := s.place[pod.UID]; ok {
		s.pods[at] = pod
		return
	}
	if s.place == nil {
		s.place = map[types.UID]int{}
	}
	s.place[pod.UID] = len(s.pods)
	s.pods = append(s.pods, pod)
}

func (s *podStore) drop(uid types.UID) {
	at, ok := s.place[uid]
	if !ok {
		return
	}
	delete(s.place, uid)
	s.pods[at] = nil
	if len(s.pods) > 16 && len(s.place) < len(s.pods)/2 {
		kept := s.all()
		s.pods = kept
		for i, pod := range kept {
			s.place[pod.UID] = i
		}
	}
}

func (s *podStore) clone() podStore { return podStore{maps.Clone(s.place), slices.Clone(s.pods)} }

// all returns the pods in a new slice.
func (s *podStore) all() []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(s.place))
	for _, pod := range s.pods {
		if pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
