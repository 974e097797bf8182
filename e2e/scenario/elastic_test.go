package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// scale changes the completions and the parallelism of an Indexed Job (KEP-3715).
func scale(w *world.World, size int32) {
	w.T.Helper()
	w.Update(func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = &size, &size })
}

func TestScaleUp(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(3))
		w.Until(observe.Want{Active: 3, Ready: 3})
		scale(w, 5)
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 5, Completed: "0-4", Conditions: completed})
	})
}

// A failure of an index beyond the new completions still counts; a success does not. The
// running pods of such indexes are deleted, and do not count as failures.
func TestScaleDown(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(5))
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		w.Become(kubelet.Succeed(), s.OfIndex(1, 3)...)
		w.Become(kubelet.Fail(1), s.OfIndex(4)...)
		w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 2, Failed: 1, Completed: "1,3"})
		scale(w, 2)
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1, Completed: "1"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Completed: "0,1", Conditions: completed})
	})
}

// A success of an index that is beyond the completions for some time is forgotten: the index
// runs again when the Job grows.
func TestScaleDownAndUp(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(3))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.OfIndex(2)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Completed: "2"})
		scale(w, 2)
		w.Until(observe.Want{Active: 2, Ready: 2})
		scale(w, 3)
		s = w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 3, Completed: "0-2", Conditions: completed})
	})
}

// All remaining indexes have succeeded, so the Job is complete.
func TestScaleDownToSucceededIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(3))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.OfIndex(0)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Completed: "0"})
		scale(w, 1)
		w.Until(observe.Want{Succeeded: 1, Completed: "0", Conditions: completed})
	})
}

func TestScaleDownToZero(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(3))
		w.Until(observe.Want{Active: 3, Ready: 3})
		scale(w, 0)
		w.Until(observe.Want{Conditions: completed})
	})
}

// With a limit per index, a failed index beyond the completions does not fail the Job.
func TestScaleDownBelowFailedIndex(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(3, 0))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(2)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 1, FailedIndexes: "2"})
		scale(w, 2)
		s = w.When("the failed index is forgotten", func(s observe.State) bool { return *s.Job.Status.FailedIndexes == "" })
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Completed: "0,1", Conditions: completed})
	})
}

// The Job is scaled down, and then its parallelism changes, before the controller syncs. The
// number of successes may decrease only while completions and parallelism are equal, so the API
// server rejects each status of the built-in controller: see stuck-succeeded in
// docs/divergences.md. jobfate keeps the number until it may decrease.
func TestScaleDownThenParallelism(t *testing.T) {
	onlyJobfate(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(4))
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		w.Become(kubelet.Succeed(), s.OfIndex(2, 3)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 2, Completed: "2,3"})
		w.Restart(func() {
			scale(w, 2)
			setParallelism(w, 1)
		})
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		s = w.When("the other index runs", func(now observe.State) bool { return len(without(now.Active(), s.Active())) == 1 })
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: completed})
	})
}
