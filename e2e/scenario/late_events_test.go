package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/kubelet"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/proxy"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
)

// throughProxies plays a scenario with controllers of its own, each behind a proxy,
// and compares the ends. Tests that use it do not run beside others: the built-in
// controller that they share has to stand aside for one that answers for the same
// Jobs.
func throughProxies(t *testing.T, script kubelet.Script, scenario func(*world.World, *proxy.Proxy)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(builtIn.Stop())
	t.Cleanup(func() { must(builtIn.Start()) })
	proxies := map[*server.Controller]*proxy.Proxy{}
	start := func(start func(server.Options) (*server.Controller, error), o server.Options) *server.Controller {
		p, err := proxy.Start(api.Config())
		must(err)
		t.Cleanup(p.Close)
		o.Via = p.Config
		c, err := start(o)
		must(err)
		t.Cleanup(c.Kill)
		proxies[c] = p
		return c
	}
	late := "jobfate.dev/late"
	ours := start(func(o server.Options) (*server.Controller, error) { return api.Jobfate(t.Context(), o) },
		server.Options{Name: "jobfate-late", Args: []string{"--managed-by=" + late}})
	theirs := start(func(o server.Options) (*server.Controller, error) { return api.BuiltIn(t.Context(), o) },
		server.Options{Name: "built-in-late"})
	worlds := play(t, script, func(w *world.World) { scenario(w, proxies[w.Side.Controller]) },
		world.Side{Controller: ours, ManagedBy: &late}, world.BuiltIn(theirs))
	if !t.Failed() {
		observe.Agree(t, worlds[0].View, worlds[1].View, compare.Ends)
	}
}

// hold keeps all news of a resource from a controller until it is let go.
func hold(p *proxy.Proxy, resource string) (letGo func()) {
	list := p.Add(proxy.Rule{Call: proxy.Call{Verb: "list", Resource: resource}, Probability: 1, Do: proxy.Drop})
	watch := p.Add(proxy.Rule{Call: proxy.Call{Verb: "watch", Resource: resource}, Probability: 1, Do: proxy.Drop})
	p.CutWatches()
	return func() {
		p.Remove(list)
		p.Remove(watch)
	}
}

// The controller ends a Job and does not see that it has. Its pod changes again,
// and still none comes in its place (KEP-2307).
func TestLateJobEvents(t *testing.T) {
	for name, life := range map[string]kubelet.Life{"succeeded": kubelet.Succeed(), "failed": kubelet.Fail(1)} {
		t.Run(name, func(t *testing.T) {
			throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
				neverMore(w, 1)
				endMarker := beginMarker(w)
				spec := regular(1)
				spec.BackoffLimit = new(int32(0))
				w.Create(spec)
				s := w.Until(observe.Want{Active: 1, Ready: 1})
				letGo := hold(p, "jobs")
				w.Become(life, s.Active()...)
				w.When("the pod is counted", func(s observe.State) bool { return s.Job.Status.Succeeded+s.Job.Status.Failed == 1 })
				patchPod(w, s.Active()[0], `{"metadata":{"annotations":{"changed":"yes"}}}`)
				endMarker()
				letGo()
				if life.End.Exit == 0 {
					w.Until(observe.Want{Succeeded: 1, Conditions: completed})
				} else {
					w.Until(observe.Want{Failed: 1, Conditions: failedByLimit})
				}
			})
		})
	}
}

// The status that the controller has stored is not to be seen, and more pods end:
// what it has counted it does not count again.
func TestLateJobEventsWhileMorePodsEnd(t *testing.T) {
	throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		spec := indexed(5)
		spec.Parallelism = new(int32(4))
		endMarker := beginMarker(w)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		letGo := hold(p, "jobs")
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		w.When("the failure is counted", func(s observe.State) bool { return s.Job.Status.Failed == 1 })
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		w.Become(kubelet.Succeed(), s.OfIndex(2)...)
		endMarker()
		letGo()
		s = w.Until(observe.Want{Active: 4, Ready: 4, Succeeded: 1, Failed: 2, Completed: "2"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 5, Failed: 2, Completed: "0-4", Conditions: completed})
	})
}

// Pods end unseen. The Job changes meanwhile, so that the controller looks at what
// is no longer so.
func TestLatePodEvents(t *testing.T) {
	throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		neverMore(w, 5)
		w.Create(indexed(4))
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		letGo := hold(p, "pods")
		w.Become(kubelet.Succeed(), s.OfIndex(1, 2)...)
		w.Become(kubelet.Fail(1), s.OfIndex(3)...)
		w.When("the pods have ended", func(s observe.State) bool { return len(s.Active()) == 1 })
		setParallelism(w, 5)
		beginMarker(w)
		letGo()
		s = w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 2, Failed: 1, Completed: "1,2"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 4, Failed: 1, Completed: "0-3", Conditions: completed})
	})
}

// The controller does not see the pods that it has created, and creates none again.
func TestLateCreations(t *testing.T) {
	throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		neverMore(w, 5)
		letGo := hold(p, "pods")
		w.Create(regular(5))
		w.When("pods", func(s observe.State) bool { return len(s.Pods()) == 5 })
		beginMarker(w)
		letGo()
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 5, Conditions: completed})
	})
}

// The controller does not see that pods have succeeded, and wants to delete them,
// for there are too many. The built-in controller would lose what they have done:
// see guarded-patches in docs/divergences.md. jobfate's is refused, and counts them.
func TestLateSuccessesOfSurplusPods(t *testing.T) {
	throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		spec := regular(3)
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		letGo := hold(p, "pods")
		w.Become(kubelet.Succeed(), s.Active()...)
		w.When("the pods have ended", func(s observe.State) bool { return len(s.Active()) == 0 })
		setParallelism(w, 0)
		if w.Side.ManagedBy == nil {
			w.When("the pods are gone", func(s observe.State) bool { return len(s.All) == 0 })
		} else {
			wantEvents(w, "FailedDelete")
		}
		letGo()
	})
}

// All watches are cut each time that something happens.
func TestWatchesCut(t *testing.T) {
	throughProxies(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		spec := indexed(4)
		spec.Parallelism = new(int32(1))
		w.Create(spec)
		for done := range int32(4) {
			s := w.When("the next index runs", func(s observe.State) bool {
				return s.Job.Status.Succeeded == done && len(s.Active()) == 1 && s.Job.Status.Active == 1
			})
			if cut := p.CutWatches(); cut == 0 && done == 0 {
				w.T.Error("there were no watches to cut")
			}
			if done == 1 {
				w.Become(kubelet.Fail(1), s.Active()...)
				s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1, Completed: "0"})
				p.CutWatches()
			}
			w.Become(kubelet.Succeed(), s.Active()...)
		}
		w.Until(observe.Want{Succeeded: 4, Failed: 1, Completed: "0-3", Conditions: completed})
	})
}
