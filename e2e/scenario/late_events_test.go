package scenario

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// bothProxied is both, with a proxy in front of each controller.
func bothProxied(t *testing.T, script kubelet.Script, scenario func(*world.World, *proxy.Proxy)) {
	t.Helper()
	ours, theirs := jobfateProxied(t, "jobfate-late"), builtInProxied(t)
	worlds := play(t, script, func(w *world.World) {
		if w.Side.Controller == ours.Controller {
			scenario(w, ours.Proxy)
		} else {
			scenario(w, theirs.Proxy)
		}
	}, ours.Side, theirs.Side)
	if !t.Failed() {
		observe.Agree(t, worlds[0].View, worlds[1].View, compare.Ends)
	}
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

// The controller does not observe that it has ended a Job. Its pod changes again, and still no
// pod is created (KEP-2307).
func TestLateJobEvents(t *testing.T) {
	for name, life := range map[string]kubelet.Life{"succeeded": kubelet.Succeed(), "failed": kubelet.Fail(1)} {
		t.Run(name, func(t *testing.T) {
			bothProxied(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
				limitPods(w, 1)
				spec := regular(1)
				spec.BackoffLimit = new(int32(0))
				w.Create(spec)
				s := w.Until(observe.Want{Active: 1, Ready: 1})
				tick := beginClock(w)
				release := hold(p, "jobs")
				w.Become(life, s.Active()...)
				w.When("the pod is counted", func(s observe.State) bool { return s.Job.Status.Succeeded+s.Job.Status.Failed == 1 })
				patchPod(w, s.Active()[0], `{"metadata":{"annotations":{"changed":"yes"}}}`)
				tick()
				release()
				if life.End.Exit == 0 {
					w.Until(observe.Want{Succeeded: 1, Conditions: completed})
				} else {
					w.Until(observe.Want{Failed: 1, Conditions: failedByLimit})
				}
			})
		})
	}
}

// The controller does not observe the status that it has stored, and more pods end. It counts
// no pod again.
func TestLateJobEventsWhileMorePodsEnd(t *testing.T) {
	bothProxied(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		spec := indexed(5)
		spec.Parallelism = new(int32(4))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		tick := beginClock(w)
		release := hold(p, "jobs")
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		w.When("the failure is counted", func(s observe.State) bool { return s.Job.Status.Failed == 1 })
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		w.Become(kubelet.Succeed(), s.OfIndex(2)...)
		tick()
		release()
		s = w.Until(observe.Want{Active: 4, Ready: 4, Succeeded: 1, Failed: 2, Completed: "2"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 5, Failed: 2, Completed: "0-4", Conditions: completed})
	})
}

// Pods end unobserved. The Job changes meanwhile, so the controller syncs with a stale cache.
func TestLatePodEvents(t *testing.T) {
	bothProxied(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		limitPods(w, 5)
		w.Create(indexed(4))
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		release := hold(p, "pods")
		w.Become(kubelet.Succeed(), s.OfIndex(1, 2)...)
		w.Become(kubelet.Fail(1), s.OfIndex(3)...)
		w.When("the pods have ended", func(s observe.State) bool { return len(s.Active()) == 1 })
		setParallelism(w, 5)
		_, endMarker := beginMarker(w)
		release()
		endMarker()
		s = w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 2, Failed: 1, Completed: "1,2"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 4, Failed: 1, Completed: "0-3", Conditions: completed})
	})
}

// The controller does not observe the pods that it has created, and creates no others.
func TestLateCreations(t *testing.T) {
	bothProxied(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
		limitPods(w, 5)
		marker(w) // the controller has begun
		release := hold(p, "pods")
		w.Create(regular(5))
		w.When("pods", func(s observe.State) bool { return len(s.Pods()) == 5 })
		w.Update(func(job *batchv1.Job) { job.Spec.BackoffLimit = new(int32(1)) })
		_, endMarker := beginMarker(w)
		release()
		endMarker()
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 5, Conditions: completed})
	})
}

// The controller does not observe that pods have succeeded, and deletes them as surplus. The
// built-in controller loses their successes: see guarded-patches in docs/divergences.md.
// jobfate's first write to such a pod is rejected, and it counts the pod.
func TestLateSuccessesOfSurplusPods(t *testing.T) {
	t.Parallel()
	side := jobfateProxied(t, "jobfate-surplus")
	play(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
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

// A Job is deleted and created again under its name. To the controller this looks like an
// update. A backoff of 40 seconds after three failures of the first Job must not delay the
// second. The built-in controller keeps the backoff by name, and delays the second Job.
func TestLateEventsOfARecreatedJob(t *testing.T) {
	t.Parallel()
	side := jobfateProxied(t, "jobfate-another")
	play(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(3))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.Active()...)
		w.Until(observe.Want{Failed: 3})
		marker(w)
		release := hold(side.Proxy, "jobs")
		w.Delete(metav1.DeletePropagationBackground)
		again := w.Create(regular(2))
		w.When("an old pod is gone", func(now observe.State) bool { return now.All[s.Active()[0].Name] == nil })
		release()
		s = w.Until(observe.Want{Active: 2, Ready: 2})
		for _, pod := range s.Active() {
			if waited := pod.CreationTimestamp.Sub(again.CreationTimestamp.Time); waited >= 30*time.Second {
				w.T.Errorf("pod %s came %s after its Job", pod.Name, waited)
			}
		}
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	}, side.Side)
}

// All watches are cut at each event. Clients wait longer after each cut, so there are few
// events.
func TestWatchesCut(t *testing.T) {
	bothProxied(t, kubelet.Always(kubelet.Run()), func(w *world.World, p *proxy.Proxy) {
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
	})
}
