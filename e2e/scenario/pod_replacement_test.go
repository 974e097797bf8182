package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// bothModes plays a scenario with a NonIndexed and an Indexed Job, both with a pod replacement
// policy.
func bothModes(t *testing.T, policy batchv1.PodReplacementPolicy, pods int32, scenario func(*world.World, batchv1.JobSpec)) {
	for name, spec := range map[string]batchv1.JobSpec{"regular": regular(pods), "indexed": indexed(pods)} {
		spec.PodReplacementPolicy = &policy
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) { scenario(w, spec) })
		})
	}
}

// ifIndexed returns the completed indexes of an Indexed Job; nothing for other Jobs.
func ifIndexed(spec batchv1.JobSpec, indexes string) string {
	if spec.CompletionMode == nil {
		return ""
	}
	return indexes
}

// "TerminatingOrFailed means that we recreate pods when they are terminating (has a
// metadata.deletionTimestamp) or failed": it counts as failed at once.
func TestReplacedWhileTerminating(t *testing.T) {
	t.Parallel()
	bothModes(t, batchv1.TerminatingOrFailed, 2, func(w *world.World, spec batchv1.JobSpec) {
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		deleted := s.Active()[0]
		w.DeletePods(deleted)
		s = w.Until(observe.Want{Active: 2, Ready: 2, Failed: 1, Terminating: 1})
		w.Become(kubelet.Run(), deleted)
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 1})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Completed: ifIndexed(spec, "0,1"), Conditions: completed})
	})
}

// "Failed means to wait until a previously created Pod is fully terminated (has
// phase Failed or Succeeded) before creating a replacement Pod."
func TestReplacedOnceFailed(t *testing.T) {
	t.Parallel()
	bothModes(t, batchv1.Failed, 2, func(w *world.World, spec batchv1.JobSpec) {
		limitPods(w, 4)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.DeletePods(s.Active()...)
		w.Until(observe.Want{Terminating: 2})
		marker(w)
		w.Until(observe.Want{Terminating: 2})
		w.Become(kubelet.Run(), s.Active()...)
		w.Until(observe.Want{Failed: 2})
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 2})
	})
}

// A deleted pod that exits with 0 has succeeded.
func TestTerminatingPodSucceeds(t *testing.T) {
	t.Parallel()
	bothModes(t, batchv1.Failed, 1, func(w *world.World, spec batchv1.JobSpec) {
		limitPods(w, 1)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 1, Ready: 1})
		w.DeletePods(s.Active()...)
		w.Until(observe.Want{Terminating: 1})
		w.Become(kubelet.Run().Dying(0, 0), s.Active()...)
		w.Until(observe.Want{Succeeded: 1, Completed: ifIndexed(spec, "0"), Conditions: completed})
	})
}

// Surplus pods count as terminating until they are gone. With the policy Failed they also take
// up slots when the Job grows again.
func TestMoreParallelismWhileTerminating(t *testing.T) {
	t.Parallel()
	for policy, active := range map[batchv1.PodReplacementPolicy]int32{batchv1.Failed: 1, batchv1.TerminatingOrFailed: 3} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
				w.Create(batchv1.JobSpec{Parallelism: new(int32(2)), PodReplacementPolicy: &policy})
				s := w.Until(observe.Want{Active: 2, Ready: 2})
				setParallelism(w, 0)
				w.Until(observe.Want{Terminating: 2})
				setParallelism(w, 3)
				w.Until(observe.Want{Active: active, Ready: active, Terminating: 2})
				w.Become(kubelet.Run(), s.Active()...)
				w.Until(observe.Want{Active: 3, Ready: 3})
			})
		})
	}
}

// A Job is suspended before its pods have run for long. When it is resumed, it waits for the
// terminating pods if its policy is Failed.
func TestResumeWhileTerminating(t *testing.T) {
	t.Parallel()
	bothModes(t, batchv1.Failed, 2, func(w *world.World, spec batchv1.JobSpec) {
		limitPods(w, 4)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		setSuspend(w, true)
		w.Until(observe.Want{Terminating: 2, Conditions: suspended})
		setSuspend(w, false)
		w.Until(observe.Want{Terminating: 2})
		marker(w)
		w.Become(kubelet.Run(), s.Active()[0])
		w.Until(observe.Want{Active: 1, Ready: 1, Terminating: 1})
		w.Become(kubelet.Run(), s.Active()[1])
		w.Until(observe.Want{Active: 2, Ready: 2})
	})
}
