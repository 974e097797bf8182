package faults

import (
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// patience is how long a disturbed Job may take for each step.
const patience = 2 * time.Minute

// compareDisturbed makes a controller run all scenarios while it is disturbed, and compares their
// final states with those of undisturbed runs. It closes the channel over when all scenarios have
// ended.
func compareDisturbed(t *testing.T, side world.Side, n int, disturb func(over <-chan struct{})) {
	t.Helper()
	compareDisturbedBy(t, side, n, compare.Ends, disturb)
}

// compareDisturbedBy is compareDisturbed with another comparison.
func compareDisturbedBy(t *testing.T, side world.Side, n int, difference func(a, b script.State) string, disturb func(over <-chan struct{})) {
	t.Helper()
	want := reference.ends(t, n)
	over, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		disturb(over)
	}()
	got := runScenarios(t, side, n)
	close(over)
	<-quiet
	if t.Failed() {
		return
	}
	for name, state := range got {
		if differs := difference(want[name], state); differs != "" {
			t.Errorf("%s: the final state differs (-undisturbed +got):\n%s", name, differs)
		}
	}
}

// runScenarios makes a controller run all scenarios in parallel, checks that each pod has been counted
// once, and returns the final states.
func runScenarios(t *testing.T, side world.Side, n int) map[string]script.State {
	t.Helper()
	var mu sync.Mutex
	ends := map[string]script.State{}
	t.Run("with", func(t *testing.T) {
		for _, p := range scenarios {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				var w *world.World
				byUser(func() { w = world.New(t, api, side, p.script()) })
				w.Feed.Patience = patience
				t.Cleanup(w.LogOnFailure)
				t.Cleanup(func() { logRemainingPods(w) })
				seen := &history{named: map[types.UID]bool{}}
				w.Always("a pod that was counted as failed is not listed again", seen.record)
				p.run(w, int32(n))
				catchUp(w)
				w.Settle()
				w.When("no pod is left", func(s script.State) bool {
					return len(s.Sorted(func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })) == 0
				})
				checkCounts(w)
				mu.Lock()
				defer mu.Unlock()
				ends[p.name] = w.State()
			})
		}
	})
	return ends
}

// catchUp waits until the view shows the pods that have ended. After a restart of the server, the
// watch of pods may resume seconds later than the watch of Jobs.
func catchUp(w *world.World) {
	w.T.Helper()
	pods := list(w)
	w.When("the view shows all pods that have ended", func(s script.State) bool {
		return !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			seen := s.All[p.Name]
			return script.Ended(&p) && p.DeletionTimestamp == nil && (seen == nil || !script.Ended(seen))
		})
	})
}

func list(w *world.World) []corev1.Pod {
	w.T.Helper()
	var pods *corev1.PodList
	byUser(func() {
		var err error
		pods, err = w.Client.CoreV1().Pods(w.Namespace).List(w.T.Context(), metav1.ListOptions{})
		w.Must(err)
	})
	return pods.Items
}

// undisturbedEnds holds the final states of undisturbed scenarios, by their size.
type undisturbedEnds struct {
	mu  sync.Mutex
	all map[int]map[string]script.State
}

var reference = undisturbedEnds{all: map[int]map[string]script.State{}}

func (c *undisturbedEnds) ends(t *testing.T, n int) map[string]script.State {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[n] == nil {
		t.Run("undisturbed", func(t *testing.T) { c.all[n] = runScenarios(t, undisturbed, n) })
		if t.Failed() {
			t.Fatal("the undisturbed runs have failed")
		}
	}
	return c.all[n]
}

// logRemainingPods lists the remaining pods if the test has failed, with the kubelet's record of them.
func logRemainingPods(w *world.World) {
	if !w.T.Failed() {
		return
	}
	ends := w.Kubelet.Ended()
	for _, pod := range w.State().Sorted(func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || len(p.Finalizers) > 0
	}) {
		end := ends[pod.UID]
		w.T.Logf("left: %s, index %d, phase %s, deleted %t, finalizers %v; the kubelet's record: phase %q, tracked %t",
			pod.Name, script.Index(pod), pod.Status.Phase, pod.DeletionTimestamp != nil, pod.Finalizers, end.Phase, end.Tracked)
	}
}

// history records which pods the status of a Job has listed as uncounted failures, in all observed
// states.
type history struct {
	named, now map[types.UID]bool
}

// record records a state. It returns false if the status lists a pod again after it was counted.
func (h *history) record(s script.State) bool {
	if s.Job == nil || s.Job.Status.UncountedTerminatedPods == nil {
		return true
	}
	once, now := true, map[types.UID]bool{}
	for _, uid := range s.Job.Status.UncountedTerminatedPods.Failed {
		once = once && (h.now[uid] || !h.named[uid])
		now[uid], h.named[uid] = true, true
	}
	h.now = now
	return once
}
