package scenario

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// base is the default delay after the first failure.
const base = 10 * time.Second

// delay returns the time between the end of one pod and the creation of another. Both times are
// whole seconds, so it is less than a second off.
func delay(from, to *corev1.Pod) time.Duration {
	return to.CreationTimestamp.Sub(from.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time)
}

// wantDelays checks that pods were created one after another, after delays that double.
func wantDelays(w *world.World, pods []*corev1.Pod) {
	w.T.Helper()
	least := base
	for i := range pods[1:] {
		if got := delay(pods[i], pods[i+1]); got < least || got >= 2*least {
			w.T.Errorf("pod %d came %s after the end of the one before, want %s or more, less than %s", i+1, got, least, 2*least)
		}
		least *= 2
	}
}

// A pod is replaced after 10 s, and its replacement after 20 s.
func TestBackoffDelay(t *testing.T) {
	t.Parallel()
	both(t, failTimes(2), func(w *world.World) {
		w.Create(batchv1.JobSpec{})
		s := w.Until(observe.Want{Succeeded: 1, Failed: 2, Conditions: completed})
		wantDelays(w, s.Pods())
	})
}

// Simultaneous failures all count: after two at once the delay is 20 s.
func TestBackoffDelayAfterSeveralFailures(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		failed := w.Until(observe.Want{Active: 2, Ready: 2}).Active()
		w.Become(kubelet.Fail(1), failed...)
		w.Until(observe.Want{Failed: 2})
		s := w.Until(observe.Want{Active: 2, Ready: 2, Failed: 2})
		for _, next := range s.Active() {
			if got := delay(s.All[failed[0].Name], next); got < 2*base || got >= 4*base {
				w.T.Errorf("the replacement came after %s, want %s or more, less than %s", got, 2*base, 4*base)
			}
		}
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 2, Conditions: completed})
	})
}

// A success ends the delay: earlier failures no longer count.
func TestBackoffDelayEndsWithSuccess(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		fails, succeeds := s.Active()[0], s.Active()[1]
		w.Become(kubelet.Fail(1), fails)
		w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1})
		// One second later by the times of the pods, which are whole seconds.
		w.Become(kubelet.Succeed().After(time.Second), succeeds)
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1})
		if got := delay(s.All[fails.Name], s.Active()[0]); got >= base {
			w.T.Errorf("the replacement came %s after the failure, want less than %s", got, base)
		}
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Conditions: completed})
	})
}

// Each index has its own delay. Index 1 fails for the first time while index 0 waits for the
// second time.
func TestBackoffDelayPerIndex(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		switch {
		case p.Index == 0 && p.Attempt < 2, p.Attempt < 1:
			return kubelet.Fail(1).After(time.Duration(p.Index) * base)
		}
		return kubelet.Succeed()
	}
	both(t, script, func(w *world.World) {
		w.Create(perIndex(2, 2))
		s := w.Until(observe.Want{Succeeded: 2, Failed: 3, Completed: "0,1", Conditions: completed})
		wantDelays(w, s.OfIndex(0))
		wantDelays(w, s.OfIndex(1))
	})
}

// With parallelism 1, index 0 is backing off. The two controllers differ on purpose
// (docs/divergences.md, FillFreeSlots): with the built-in one, index 1 waits for index 0; with
// jobfate's, index 1 runs.
func TestBackoffDelayFreeSlot(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Index == 0 && p.Attempt == 0 {
			return kubelet.Fail(1)
		}
		return kubelet.Succeed()
	}
	both(t, script, func(w *world.World) {
		spec := perIndex(2, 1)
		spec.Parallelism = new(int32(1))
		w.Create(spec)
		s := w.Until(observe.Want{Succeeded: 2, Failed: 1, Completed: "0,1", Conditions: completed})
		wantDelays(w, s.OfIndex(0))
		fills, other := w.Side.ManagedBy != nil, s.OfIndex(1)[0]
		if got := delay(s.OfIndex(0)[0], other); fills && got >= base {
			w.T.Errorf("index 1 came %s after the failure of index 0, want less than %s", got, base)
		}
		if got := delay(s.OfIndex(0)[1], other); !fills && got < 0 {
			w.T.Errorf("index 1 came %s before the end of index 0, want after it", -got)
		}
	})
}

// After a restart the two controllers differ on purpose (docs/divergences.md, BackoffInDoubt):
// the built-in one has forgotten the counted failures and replaces the pod at once; jobfate's
// computes the record from the pods that still exist.
func TestBackoffDelayOverRestart(t *testing.T) {
	both(t, failTimes(1), func(w *world.World) {
		w.Create(batchv1.JobSpec{})
		w.Until(observe.Want{Failed: 1})
		w.Restart(func() {})
		s := w.Until(observe.Want{Succeeded: 1, Failed: 1, Conditions: completed})
		if w.Side.ManagedBy != nil {
			wantDelays(w, s.Pods())
		} else if got := delay(s.Pods()[0], s.Pods()[1]); got >= base {
			w.T.Errorf("the replacement came after %s, want less than %s", got, base)
		}
	})
}
