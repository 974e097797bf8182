package scenario

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// proxied is a controller of one test, behind a proxy.
type proxied struct {
	world.Side
	*proxy.Proxy
}

// jobfateProxied starts a controller with a unique name.
func jobfateProxied(t *testing.T, name string) proxied {
	t.Helper()
	p := world.Proxy(t, api)
	return proxied{world.Start(t, api, server.Options{Name: name, Via: p.Config}), p}
}

// builtInProxied starts another built-in controller. The shared one, which would run the same
// Jobs, stands aside, so the test must not run in parallel.
func builtInProxied(t *testing.T) proxied {
	t.Helper()
	standAside(t, builtIn)
	p := world.Proxy(t, api)
	return proxied{world.BuiltIn(world.Run(t, api.BuiltIn, server.Options{Name: "built-in-late", Via: p.Config})), p}
}

// hold holds back all events of a resource from a controller until it is released.
func hold(p *proxy.Proxy, resource string) (release func()) {
	list := p.Add(proxy.Rule{Call: proxy.Call{Verb: "list", Resource: resource}, Probability: 1, Do: proxy.Drop})
	watch := p.Add(proxy.Rule{Call: proxy.Call{Verb: "watch", Resource: resource}, Probability: 1, Do: proxy.Drop})
	p.CutWatches()
	return func() { p.Remove(list, watch) }
}

// beginClock makes the controller run another Job, and observe all its writes so far. The
// returned function ends that Job. The controller has then handled everything that happened
// before, even while the events of Jobs are held back.
func beginClock(w *world.World) (end func()) {
	w.T.Helper()
	job, end := w.BeginMarker()
	other, _ := observe.Watch(w.T.Context(), w.T, w.Client, w.Namespace, job.Name)
	other.Until("active=1 ready=1")
	w.Observed()
	return end
}

// The controller does not observe that pods have succeeded, and deletes them as surplus. The
// built-in controller loses their successes: see guarded-patches in docs/divergences.md.
// jobfate's first write to such a pod is rejected, and it counts the pod.
func TestLateSuccessesOfSurplusPods(t *testing.T) {
	t.Parallel()
	side := jobfateProxied(t, "jobfate-surplus")
	play(t, kubelet.Always(kubelet.Run()), nil, func(w *world.World) {
		w.Play("create {completions: 3, parallelism: 2}\nuntil active=2 ready=2")
		release := hold(side.Proxy, "pods")
		w.Play("become all succeed\nwhen running=0")
		tried := make(chan struct{})
		side.Proxy.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "pods"}, Nth: 1, Do: proxy.After(func() { close(tried) })})
		w.Play("edit {parallelism: 0}")
		select {
		case <-tried:
		case <-time.After(observe.DefaultPatience):
			w.T.Fatal("the controller did not try to take the finalizer from a pod that it deletes")
		}
		release()
		w.Play(`until succeeded=2
			edit {parallelism: 1}
			until active=1 ready=1 succeeded=2
			become all succeed
			until succeeded=3 ` + world.Completed)
	}, side.Side)
}

// slowly starts a controller of jobfate that may write once per second, as in Kubernetes' own
// tests. So much happens between two writes of one sync.
func slowly(t *testing.T, name string) world.Side {
	t.Helper()
	return world.Start(t, api, server.Options{Name: name, QPS: 1, Burst: 1})
}

// countedOnce checks from now on that the status counts no more pods than have ended, and that
// an ended pod keeps its finalizer until it is counted.
func countedOnce(w *world.World) {
	w.T.Helper()
	ended, free := map[types.UID]bool{}, map[types.UID]bool{}
	w.Always("each pod is counted once, and before it loses its finalizer", func(s script.State) bool {
		for _, pod := range s.Pods() {
			if script.Ended(pod) {
				ended[pod.UID] = true
				if len(pod.Finalizers) == 0 {
					free[pod.UID] = true
				}
			}
		}
		if s.Job == nil {
			return true
		}
		status := s.Job.Status
		counted := int(status.Succeeded + status.Failed)
		if u := status.UncountedTerminatedPods; u != nil {
			counted += len(u.Succeeded) + len(u.Failed)
		}
		return counted <= len(ended) && len(free) <= counted
	})
}

// Pods end while others are being counted. The final state is compared with that of the
// built-in controller at full speed: a slow one would have to run alone.
func TestSlowCounting(t *testing.T) {
	t.Parallel()
	for name, indexes := range map[string]string{"NonIndexed": "", "Indexed": "completed=0-3 "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := slowly(t, "jobfate-slow-"+strings.ToLower(name))
			play(t, kubelet.Always(kubelet.Run()), compare.Ends, func(w *world.World) {
				if w.Side == slow {
					countedOnce(w)
				}
				s := w.Play("limit 5\ncreate {completions: 4, parallelism: 4, completionMode: " + name + "}\nuntil active=4 ready=4")
				w.Become(kubelet.Fail(1), s.Active()[0])
				w.Become(kubelet.Succeed(), s.Active()[1])
				w.When("the first are recorded", func(s script.State) bool {
					u := s.Job.Status.UncountedTerminatedPods
					return s.Job.Status.Failed > 0 || u != nil && len(u.Failed) > 0
				})
				w.Become(kubelet.Succeed(), s.Active()[2])
				s = w.When("another is in the place of the one that failed", func(now script.State) bool {
					return len(without(now.Pods(), s.Pods())) == 1
				})
				w.Become(kubelet.Succeed(), s.Active()...)
				w.Until("succeeded=4 failed=1 " + indexes + world.Completed)
			}, slow, world.BuiltIn(builtIn))
		})
	}
}

// The controller is killed after it has removed the finalizer of the pod that fails the Job,
// and that pod is deleted. The condition FailureTarget was stored before, so the Job still
// fails with that reason.
func TestSlowPodFailurePolicyKilled(t *testing.T) {
	t.Parallel()
	side := slowly(t, "jobfate-slow-killed")
	play(t, kubelet.Always(kubelet.Run()), nil, func(w *world.World) {
		s := w.Play(`create {completions: 3, parallelism: 3, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [5]}}]}}
			until active=3 ready=3`)
		failed := s.Active()[0]
		w.Become(kubelet.Fail(5), failed)
		w.When("the failed pod is free", func(s script.State) bool { return len(s.All[failed.Name].Finalizers) == 0 })
		w.Side.Kill()
		w.DeletePod(failed, false)
		w.When("the failed pod is gone", func(s script.State) bool { return s.All[failed.Name] == nil })
		w.Must(w.Side.Start())
		w.Until("failed=3 " + world.FailedByPolicy)
	}, side)
}

// The pods of deleted Jobs lose their finalizers. Any controller would free them, so no
// controller at full speed runs.
func TestSlowFreeing(t *testing.T) {
	standAside(t, builtIn)
	standAside(t, jobfate)
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			play(t, kubelet.Always(kubelet.Wait()), nil, func(w *world.World) {
				w.Play("create {completions: 2, parallelism: 2}\nuntil active=2\ndelete-job " + string(how) + "\nwhen job=gone tracked=0")
			}, slowly(t, "jobfate-slow-"+strings.ToLower(string(how))))
		})
	}
}
