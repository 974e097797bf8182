// Package faults tests a controller while the controller, its connection or the server is
// disturbed. The final states must equal those of undisturbed runs, and must agree with the
// kubelet's record of every pod.
package faults

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

var (
	kills    = flag.Int("kills", 50, "the number of SIGKILLs of the controller")
	indexes  = flag.Int("indexes", 500, "the `size` of the Jobs whose controller is killed; the Jobs of other tests have a fifth of it")
	seedFlag = flag.Uint64("seed", 0, "the random seed; 0: a new one")
)

var (
	api *server.Server
	// The side whose controller is not disturbed.
	undisturbed world.Side
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 32, func(ctx context.Context, s *server.Server) (err error) {
		const name = "undisturbed"
		undisturbed.ManagedBy = new("jobfate.dev/" + name)
		undisturbed.Controller, err = s.Jobfate(ctx, server.Options{
			Name: name, QPS: qps, Burst: qps, Args: []string{"--managed-by=" + *undisturbed.ManagedBy},
		})
		return err
	}))
}

// qps limits the writes of each controller. It is far above what the API server can handle.
const qps = 1000

// small is the size of the Jobs of most tests.
func small() int { return *indexes / 5 }

// newRand returns the random source of a test, and logs its seed if the test fails.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat this run: -seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// The controller is killed repeatedly: before one of its writes, after it, or at any time.
func TestControllerIsKilled(t *testing.T) {
	t.Parallel()
	random := newRand(t)
	p, side := throughProxy(t, "killed")
	died, byWrite := 0, 0
	compareDisturbed(t, side, *indexes, compare.Ends, func(over <-chan struct{}) {
		for died < *kills {
			how := runAndKill(p, side.Controller, random, over)
			if how == notAtAll {
				return
			}
			died++
			if how == atWrite {
				byWrite++
			}
			if err := side.Start(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	t.Logf("killed %d times, %d of them at a write", died, byWrite)
	if died < *kills || byWrite == 0 {
		t.Errorf("before all Jobs had ended, the controller was killed %d times, %d of them at a write; want %d times", died, byWrite, *kills)
	}
}

const (
	// writesOfLife is the average number of writes of a process before it is killed.
	writesOfLife = 50
	// lifetime bounds the life of half of the processes. The others are killed at a write, or
	// after a much longer time without a write.
	lifetime = 2 * time.Second
	idle     = 20 * time.Second
)

type killed uint8

const (
	notAtAll killed = iota // all Jobs have ended
	atWrite
	atSomeTime
)

// runAndKill lets the controller run for some time, and kills it.
func runAndKill(p *proxy.Proxy, c *server.Controller, random *rand.Rand, over <-chan struct{}) killed {
	dead := make(chan struct{})
	kill := sync.OnceFunc(func() {
		c.Kill()
		close(dead)
	})
	do := proxy.Before(kill)
	if random.IntN(2) == 0 {
		do = proxy.After(kill)
	}
	life := idle
	if random.IntN(2) == 0 {
		life = time.Duration(random.Int64N(int64(lifetime)))
	}
	defer p.Remove(disturbWrites(p, random.Uint64(), 1./writesOfLife, do)...)
	select {
	case <-over:
		return notAtAll
	case <-dead:
		return atWrite
	case <-time.After(life):
		kill()
		return atSomeTime
	}
}

// checkCounts compares the status of a Job that has ended with the kubelet's record of how each
// pod ended. A pod counts once if it had its finalizer until it ended or was deleted. No other pod
// counts.
func checkCounts(w *world.World) {
	w.T.Helper()
	pods := list(w)
	ends := w.Kubelet.Ended()
	for _, pod := range pods {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			w.T.Errorf("pod %s still has its finalizer", pod.Name)
		}
		if end, known := ends[pod.UID]; !known || end.Phase != pod.Status.Phase {
			w.T.Errorf("pod %s is %s, but the kubelet has ended it as %q", pod.Name, pod.Status.Phase, end.Phase)
		}
	}
	if job := w.State().Job; job != nil {
		want := charge(job, ends)
		got := job.Status
		if n := int(got.Failed); n < want.failed || n > want.failed+want.doubtful {
			w.T.Errorf("the status has %d pods failed, want %d, and %d that may count", n, want.failed, want.doubtful)
		}
		if int(got.Succeeded) != want.succeeded {
			w.T.Errorf("the status has %d succeeded, want %d", got.Succeeded, want.succeeded)
		}
		if got.CompletedIndexes != want.indexes.String() {
			w.T.Errorf("the status has completed indexes %s, want %s", got.CompletedIndexes, want.indexes)
		}
	}
}

// charged is what the status of a Job must count.
type charged struct {
	succeeded, failed int
	doubtful          int          // pods that may count as failed
	indexes           indexset.Set // that succeeded
}

func charge(job *batchv1.Job, ends map[types.UID]kubelet.Ended) charged {
	var c charged
	var indexes []int32
	for _, end := range ends {
		switch {
		case end.Doubtful:
			c.doubtful++
		case !metav1.IsControlledBy(end.Pod, job) || !end.Tracked || ignored(job, end):
		case end.Phase != corev1.PodSucceeded: // a pod that is deleted fails, even if it has not ended
			c.failed++
		case script.Index(end.Pod) >= 0:
			indexes = append(indexes, int32(script.Index(end.Pod)))
		default:
			c.succeeded++
		}
	}
	c.indexes = indexset.Of(indexes...)
	c.succeeded += c.indexes.Len()
	return c
}

// ignored reports whether a rule ignores the failure of a pod. The scenarios have one Ignore rule, for
// disruptions.
func ignored(job *batchv1.Job, end kubelet.Ended) bool {
	return job.Spec.PodFailurePolicy != nil && end.Disrupted &&
		slices.ContainsFunc(job.Spec.PodFailurePolicy.Rules, func(r batchv1.PodFailurePolicyRule) bool {
			return r.Action == batchv1.PodFailurePolicyActionIgnore
		})
}

// patience is how long a disturbed Job may take for each step.
const patience = 2 * time.Minute

// compareDisturbed makes a controller run all scenarios while it is disturbed, and compares their
// final states with those of undisturbed runs. It closes the channel over when all scenarios have
// ended.
func compareDisturbed(t *testing.T, side world.Side, n int, difference func(a, b script.State) string, disturb func(over <-chan struct{})) {
	t.Helper()
	want := reference.ends(t, n)
	over := make(chan struct{})
	var disturbing sync.WaitGroup
	disturbing.Go(func() { disturb(over) })
	got := runScenarios(t, side, n)
	close(over)
	disturbing.Wait()
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
				byUser(func() { w = world.New(t, api, side, p.script) })
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
