package decide

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/tracking"
)

// deletions returns the active pods to delete when tooMany of them are surplus. In an Indexed Job
// it always deletes pods without a valid index and all but one of the pods of an index, even if
// these are more than tooMany.
func (s *state) deletions(tooMany int, cause string) []Deletion {
	if tooMany == 0 && !s.census.Misplaced() {
		return nil
	}
	var r removal
	for _, active := range s.census.ActiveInOrder() {
		r.left = append(r.left, candidate{active, costOf(active)})
	}
	if s.spec.Indexed {
		r.removeMisplaced(*s.spec.Completions)
	}
	if more := tooMany - len(r.remove); more > 0 {
		slices.SortStableFunc(r.left, cheapestFirst)
		r.take(r.left[:more], cause)
	}
	return r.remove
}

// candidate is an active pod with the cost of deleting it.
type candidate struct {
	*census.Record
	cost cost
}

// cost says how much is lost when a pod is deleted. The first numbers that differ decide, and
// the pod with the lower one is deleted first. Pods without a node come first, then pods in
// an earlier phase, not ready, ready for a shorter time, restarted more often, and created
// later.
type cost [9]int64

func cheapestFirst(a, b candidate) int { return slices.Compare(a.cost[:], b.cost[:]) }

func costOf(r *census.Record) (c cost) {
	pod := r.Pod
	if pod.Spec.NodeName != "" {
		c[0] = 1
	}
	switch pod.Status.Phase {
	case corev1.PodUnknown:
		c[1] = 1
	case corev1.PodRunning:
		c[1] = 2
	}
	if r.Ready {
		c[2] = 1
		ready := func(cond corev1.PodCondition) bool { return cond.Type == corev1.PodReady }
		since := pod.Status.Conditions[slices.IndexFunc(pod.Status.Conditions, ready)].LastTransitionTime
		c[3], c[4] = latestFirst(since)
	}
	for i := range pod.Status.ContainerStatuses {
		c[5] = min(c[5], -int64(pod.Status.ContainerStatuses[i].RestartCount))
	}
	for status := range backoff.Sidecars(pod) {
		c[6] = min(c[6], -int64(status.RestartCount))
	}
	c[7], c[8] = latestFirst(pod.CreationTimestamp)
	return c
}

// latestFirst returns numbers that decrease with the time. An unknown time counts as the
// latest.
func latestFirst(t metav1.Time) (seconds, nanos int64) {
	if t.IsZero() {
		return math.MinInt64, 0
	}
	return -t.Unix(), -int64(t.Nanosecond())
}

// removal divides the active pods into those to delete and those that may stay.
type removal struct {
	remove []Deletion
	left   []candidate // ordered by index and UID
}

func (r *removal) take(pods []candidate, cause string) {
	for _, c := range pods {
		r.remove = append(r.remove, Deletion{Pod: c.Pod, StripFirst: c.Finalized, Cause: cause})
	}
}

// removeMisplaced deletes the pods without a valid index, and all but the most valuable
// pod of each index. The order is that of the Job controller: the highest valid index
// comes last. The order matters when a cap splits the deletions.
func (r *removal) removeMisplaced(completions int32) {
	first := func(index int32) int {
		i, _ := slices.BinarySearchFunc(r.left, index,
			func(c candidate, n int32) int { return cmp.Compare(c.Index, n) })
		return i
	}
	beyond := first(completions)
	last := beyond // where the pods of the highest valid index begin
	if beyond > 0 {
		last = first(r.left[beyond-1].Index)
	}
	pods := slices.Concat(r.left[:last], r.left[beyond:], r.left[last:beyond])
	r.left = nil
	for len(pods) > 0 {
		n := 1
		for n < len(pods) && pods[n].Index == pods[0].Index {
			n++
		}
		same := pods[:n]
		pods = pods[n:]
		index := same[0].Index
		switch {
		case index == tracking.NoIndex:
			r.take(same, CauseNoIndex)
		case index >= completions:
			r.take(same, CauseBeyond)
		default:
			slices.SortStableFunc(same, cheapestFirst)
			r.take(same[:n-1], CauseDuplicate)
			r.left = append(r.left, same[n-1])
		}
	}
}
