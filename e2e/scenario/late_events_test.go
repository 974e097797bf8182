package scenario

import (
	"context"
	"testing"
	"time"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// proxied is a controller of one test, behind a proxy.
type proxied struct {
	world.Side
	*proxy.Proxy
}

// startProxied starts a controller behind a proxy, until the test ends.
func startProxied(t *testing.T, start func(context.Context, server.Options) (*server.Controller, error), o server.Options) proxied {
	t.Helper()
	p, err := proxy.Start(api.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	o.Via = p.Config
	c, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill() })
	return proxied{world.BuiltIn(c), p}
}

// jobfateProxied starts a controller with a unique name.
func jobfateProxied(t *testing.T, name string) proxied {
	t.Helper()
	managedBy := "jobfate.dev/" + name
	side := startProxied(t, api.Jobfate, server.Options{Name: name, Args: []string{"--managed-by=" + managedBy}})
	side.ManagedBy = &managedBy
	return side
}

// builtInProxied starts another built-in controller. The shared one, which would run the same
// Jobs, stands aside, so the test must not run in parallel.
func builtInProxied(t *testing.T) proxied {
	t.Helper()
	standAside(t, builtIn)
	return startProxied(t, api.BuiltIn, server.Options{Name: "built-in-late"})
}

// hold holds back all events of a resource from a controller until it is released.
func hold(p *proxy.Proxy, resource string) (release func()) {
	list := p.Add(proxy.Rule{Call: proxy.Call{Verb: "list", Resource: resource}, Probability: 1, Do: proxy.Drop})
	watch := p.Add(proxy.Rule{Call: proxy.Call{Verb: "watch", Resource: resource}, Probability: 1, Do: proxy.Drop})
	p.CutWatches()
	return func() {
		p.Remove(list)
		p.Remove(watch)
	}
}

// beginClock makes the controller run another Job, and observe all its writes so far. The
// returned function ends that Job. The controller has then handled everything that happened
// before, even while the events of Jobs are held back.
func beginClock(w *world.World) (end func()) {
	w.T.Helper()
	job, end := beginMarker(w)
	observe.Watch(w.T.Context(), w.Client, w.Namespace, job.Name).Until(w.T, observe.Want{Active: 1, Ready: 1})
	marker(w)
	return end
}

// The controller does not observe that pods have succeeded, and deletes them as surplus. The
// built-in controller loses their successes: see guarded-patches in docs/divergences.md.
// jobfate's first write to such a pod is rejected, and it counts the pod.
func TestLateSuccessesOfSurplusPods(t *testing.T) {
	t.Parallel()
	side := jobfateProxied(t, "jobfate-surplus")
	play(t, kubelet.Always(kubelet.Run()), nil, func(w *world.World) {
		spec := regular(3)
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		release := hold(side.Proxy, "pods")
		w.Become(kubelet.Succeed(), s.Active()...)
		w.When("the pods have ended", func(s observe.State) bool { return len(s.Active()) == 0 })
		tried := make(chan struct{})
		side.Proxy.Add(proxy.Rule{Call: proxy.Call{Verb: "patch", Resource: "pods"}, Nth: 1, Do: proxy.After(func() { close(tried) })})
		setParallelism(w, 0)
		select {
		case <-tried:
		case <-time.After(observe.DefaultPatience):
			w.T.Fatal("the controller did not try to take the finalizer from a pod that it deletes")
		}
		release()
		w.Until(observe.Want{Succeeded: 2})
		setParallelism(w, 1)
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 3, Conditions: completed})
	}, side.Side)
}

// All watches are cut at each event. Clients wait longer after each cut, so there are few
// events.
func TestWatchesCut(t *testing.T) {
	ours, theirs := jobfateProxied(t, "jobfate-cut"), builtInProxied(t)
	play(t, kubelet.Always(kubelet.Run()), compare.Ends, func(w *world.World) {
		p := map[*server.Controller]*proxy.Proxy{ours.Controller: ours.Proxy, theirs.Controller: theirs.Proxy}[w.Side.Controller]
		spec := indexed(2)
		spec.Parallelism = new(int32(1))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 1, Ready: 1})
		if p.CutWatches() == 0 {
			w.T.Error("there were no watches to cut")
		}
		w.Become(kubelet.Fail(1), s.Active()...)
		s = w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1})
		p.CutWatches()
		w.Become(kubelet.Succeed(), s.Active()...)
		s = w.When("the next index runs", func(s observe.State) bool { return s.Job.Status.Succeeded == 1 && len(s.Active()) == 1 })
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Completed: "0,1", Conditions: completed})
	}, ours.Side, theirs.Side)
}
