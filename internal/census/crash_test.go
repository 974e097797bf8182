package census_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/tracking"
)

// server holds the state of one Job in the API server, and the memory of its controller.
type server struct {
	indexed, replaceFailedOnly bool
	pods                       map[types.UID]*corev1.Pod
	succeeded, failed          int32
	lists                      *batchv1.UncountedTerminatedPods
	completed                  indexset.Set

	stripped map[types.UID]bool // finalizer removed by the controller, which remembers it
	late     map[types.UID]bool // finalizer removed, but the controller's view is stale
	recorded map[types.UID]bool // recorded by a status that was stored; only for the test
}

// view is the controller's view of the pods.
func (s *server) view() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[uid].DeepCopy()
		if s.late[uid] {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
		pods = append(pods, pod)
	}
	return pods
}

// sync runs the protocol once. A crash stops it between two writes and clears the memory
// of the controller.
func (s *server) sync(t *rapid.T, limit int, faults bool) {
	crash := func(where string) bool {
		if !faults || !oneIn(t, 6, "crash "+where) {
			return false
		}
		s.stripped, s.late = map[types.UID]bool{}, map[types.UID]bool{}
		return true
	}
	c := take(tracking.Classifier{
		Indexed: s.indexed, Completions: int32(len(s.pods)), ReplaceFailedOnly: s.replaceFailedOnly,
		Uncounted: readUncounted(s.lists),
	}, s.view()...)
	c.SetStripped(slices.Collect(maps.Keys(s.stripped)))
	results := c.IndexResults(s.completed, indexset.Set{})
	a := c.Account(tracking.AccountInputs{Counted: results.Counted, Cap: limit})
	if crash("before the first write") {
		return
	}
	s.store(t, a.Lists, a.Succeeded, a.Failed)
	if s.indexed {
		s.completed = results.Completed
	}
	for _, uid := range slices.Concat(a.Lists.Succeeded, a.Lists.Failed) {
		s.recorded[uid] = true
	}
	var gone []types.UID
	for _, pod := range a.Strip {
		if crash("before a removal") {
			return
		}
		if faults && oneIn(t, 4, "removal fails") {
			continue
		}
		if s.indexed && pod.Status.Phase == corev1.PodSucceeded {
			s.recorded[pod.UID] = s.completed.Contains(names.IndexOf(pod))
		}
		if !s.recorded[pod.UID] {
			t.Fatalf("%s loses its finalizer without a record", pod.UID)
		}
		released(s.pods[pod.UID])
		s.stripped[pod.UID], s.late[pod.UID] = true, faults && rapid.Bool().Draw(t, "late")
		gone = append(gone, pod.UID)
	}
	settled := a.Settle(gone)
	if !crash("before the second write") {
		s.store(t, settled.Lists, settled.Succeeded, settled.Failed)
	}
}

func (s *server) store(t *rapid.T, lists *batchv1.UncountedTerminatedPods, succeeded, failed int32) {
	if succeeded < 0 || failed < 0 {
		t.Fatalf("counters fall by %d and %d", succeeded, failed)
	}
	checkLists(t, lists, math.MaxInt)
	s.lists, s.succeeded, s.failed = lists, s.succeeded+succeeded, s.failed+failed
}

// truth returns how many pods have really succeeded and failed.
func (s *server) truth() (succeeded, failed int32) {
	for _, pod := range s.pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded++
		case pod.Status.Phase == corev1.PodFailed, !s.replaceFailedOnly && pod.DeletionTimestamp != nil:
			failed++
		}
	}
	return succeeded, failed
}

// KEP-2307 § Algorithm: "The algorithm assumes that the Job controller could be
// stopped at any point and executed again from the first step without losing
// information."
func TestRandom_stoppedAtAnyPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &server{
			indexed: rapid.Bool().Draw(t, "indexed"), replaceFailedOnly: rapid.Bool().Draw(t, "replace failed only"),
			pods: map[types.UID]*corev1.Pod{}, lists: lists(nil, nil),
			stripped: map[types.UID]bool{}, late: map[types.UID]bool{}, recorded: map[types.UID]bool{},
		}
		n := rapid.IntRange(1, 7).Draw(t, "pods")
		for i := range n {
			pod := newPod(fmt.Sprintf("uid-%d", i), index(fmt.Sprint(i)))
			s.pods[pod.UID] = pod
		}
		limit := rapid.IntRange(1, 4).Draw(t, "cap")
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			pod := s.pods[types.UID(fmt.Sprintf("uid-%d", rapid.IntRange(0, n-1).Draw(t, "pod")))]
			switch change := rapid.IntRange(0, 3).Draw(t, "change"); {
			case change == 0 && !ended(pod) && pod.DeletionTimestamp == nil:
				succeeded(pod)
			case change == 1 && !ended(pod):
				failed(pod)
			case change == 2:
				deleted(pod)
			}
			s.sync(t, limit, true)
			wantSucceeded, wantFailed := s.truth()
			if got := s.failed + int32(len(s.lists.Failed)); got > wantFailed {
				t.Fatalf("%d pods are charged as failed, %d failed", got, wantFailed)
			}
			if got := s.succeeded + int32(len(s.lists.Succeeded)+s.completed.Len()); got > wantSucceeded {
				t.Fatalf("%d pods are credited as succeeded, %d succeeded", got, wantSucceeded)
			}
		}
		s.late = map[types.UID]bool{}
		for range n + 2 {
			s.sync(t, limit, false)
		}
		succeeded, failed := s.truth()
		same(t, "failed", s.failed, failed)
		same(t, "succeeded", s.succeeded+int32(s.completed.Len()), succeeded)
		same(t, "left uncounted", s.lists, lists(nil, nil))
	})
}
