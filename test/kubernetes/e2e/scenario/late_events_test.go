package scenario

import (
	"testing"
	"time"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
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
	standAside(t, builtIn.Controller)
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
