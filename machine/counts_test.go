package machine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// These tests check that a status never contradicts the last one because the cache of pods lags
// (S21 in docs/reliability.md).

// world is a Job, its pods, and a Machine that stores the statuses in the Job. The cache of pods
// shows what the test says.
type world struct {
	*server
	m      *Machine
	made   []*corev1.Pod
	stored []string // the counts of each stored status
}

func newWorld(parallelism int32) *world {
	return &world{server: &server{job: Train(parallelism)}, m: New()}
}

// sync runs a sync whose cache has all of the Job, and of the pods what is passed.
func (w *world) sync(t *testing.T, now time.Time, podsVersion string, pods ...*corev1.Pod) {
	t.Helper()
	v := fresh(w.job, pods...)
	v.Now, v.JobsVersion, v.PodsVersion = now, "9000", podsVersion
	run(t, w.m, v, func(r Request) (runtime.Object, error) {
		object, err := w.answer(r)
		switch r.Verb {
		case CreatePod:
			w.made = append(w.made, object.(*corev1.Pod))
		case PatchStatus:
			st := &w.job.Status
			w.stored = append(w.stored, fmt.Sprintf("active %d ready %d terminating %d failed %d", st.Active, *st.Ready, *st.Terminating, st.Failed))
		}
		return object, err
	})
}

// at returns the pod as it is after some changes.
func (w *world) at(pod *corev1.Pod, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.ResourceVersion = w.next()
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// Pods that were created and are not observed yet stay active, also after they were read by name.
func TestCounts_whileCreationsAreUnobserved(t *testing.T) {
	w := newWorld(3)
	w.sync(t, noon, "1000")
	w.sync(t, noon.Add(time.Second), "1000")
	w.pods = w.made
	for i := range 2 {
		w.sync(t, noon.Add(time.Duration(10+11*i)*time.Second), "1000") // reads them live
	}
	w.sync(t, noon.Add(30*time.Second), "9000", w.made...)
	Same(t, "statuses", w.stored, []string{"active 3 ready 0 terminating 0 failed 0"})
}

// A created pod that was read by name after its end, or after its deletion began, is not active any
// more, though the cache does not show it yet. It is not replaced before the cache does.
func TestCounts_ofAPodThatWasReadAfterItsEnd(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){"failed": Failed, "being deleted": Deleted} {
		w := newWorld(2)
		w.sync(t, noon, "1000")
		w.pods = []*corev1.Pod{w.at(w.made[0], change), w.made[1]}
		w.sync(t, noon.Add(10*time.Second), "1000")
		Same(t, name+": pods that were created", len(w.made), 2)
		Same(t, name+": statuses", w.stored, []string{
			"active 2 ready 0 terminating 0 failed 0",
			"active 1 ready 0 terminating 0 failed 0",
		})
	}
}

// A cache that shows some of the pods adds what it shows. A pod whose end it shows is counted
// without waiting for the others.
func TestCounts_whileSomeCreationsAreUnobserved(t *testing.T) {
	w := newWorld(3)
	w.sync(t, noon, "1000")
	w.sync(t, noon, "1000", w.at(w.made[0], Ready))
	w.sync(t, noon, "1000", w.at(w.made[0], Failed))
	w.sync(t, noon.Add(time.Minute), "9000", w.made[1:]...)
	Same(t, "statuses", w.stored, []string{
		"active 3 ready 0 terminating 0 failed 0",
		"active 3 ready 1 terminating 0 failed 0",
		"active 2 ready 0 terminating 0 failed 0", // in the uncounted list
		"active 2 ready 0 terminating 0 failed 1",
		"active 3 ready 0 terminating 0 failed 1",
	})
}

// A pod that has been counted is not active, even if a cache that is not complete up to its
// creation no longer shows it.
func TestCounts_ofACountedPodWhoseCreationIsUnobserved(t *testing.T) {
	w := newWorld(2)
	w.sync(t, noon, "1000")
	w.sync(t, noon, "1000", w.at(w.made[0], Failed))
	w.sync(t, noon, "1000")
	Same(t, "statuses", w.stored, []string{
		"active 2 ready 0 terminating 0 failed 0",
		"active 1 ready 0 terminating 0 failed 0",
		"active 1 ready 0 terminating 0 failed 1",
	})
}

// Pods that were deleted and are not observed as such stay terminating: a suspended Job does not
// report active pods again.
func TestCounts_whileDeletionsAreUnobserved(t *testing.T) {
	w := newWorld(2)
	w.sync(t, noon, "1000")
	running := []*corev1.Pod{w.at(w.made[0], Ready), w.at(w.made[1])}
	upTo := w.next()
	w.sync(t, noon, upTo, running...)
	w.job = suspended(w.job.DeepCopy())
	for range 10 {
		w.sync(t, noon, upTo, running...)
		Same(t, "order of the finalizers in flight", slices.IsSorted(w.m.Result().Decision.Facts().InFlight.Stripped), true)
	}
	w.sync(t, noon, "9000", w.at(running[0], Released, Deleted), w.at(running[1], Released, Deleted))
	w.sync(t, noon, "9000")
	Same(t, "statuses", w.stored, []string{
		"active 2 ready 0 terminating 0 failed 0",
		"active 2 ready 1 terminating 0 failed 0",
		"active 0 ready 0 terminating 2 failed 0",
		"active 0 ready 0 terminating 0 failed 0",
	})
}

// A Job that ends deletes its pods again while the first deletions are unobserved. They are
// counted once.
func TestCounts_whileTheDeletionsAtTheEndAreUnobserved(t *testing.T) {
	w := newWorld(2)
	w.job.Spec.BackoffLimit = new(int32(0))
	w.sync(t, noon, "1000")
	pods := []*corev1.Pod{w.at(w.made[0], Failed), w.at(w.made[1], Ready)}
	upTo := w.next()
	for range 3 {
		w.sync(t, noon, upTo, pods...)
	}
	f := w.m.Result().Decision.Facts().InFlight
	Same(t, "deletions to wait for, and pods in flight", Pair(f.Deletions, len(f.Pods)), Pair(0, 1))
	Same(t, "statuses", w.stored, []string{
		"active 2 ready 0 terminating 0 failed 0",
		"active 1 ready 1 terminating 0 failed 0", // the verdict
		"active 0 ready 0 terminating 1 failed 0",
		"active 0 ready 0 terminating 1 failed 2", // the deleted pod counts as failed
	})
}
