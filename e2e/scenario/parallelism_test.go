package scenario

import (
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// Without completions, failed pods are replaced until the first pod succeeds. "Once any Pod has
// exited with success, no other Pod should still be doing any work": running pods may end
// either way, and none is created.
func TestWorkQueue(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(batchv1.JobSpec{Parallelism: new(int32(5))})
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		w.Become(kubelet.Fail(1), s.Active()[0])
		s = w.Until(observe.Want{Active: 5, Ready: 5, Failed: 1})

		limitPods(w, 6)
		active := s.Active()
		w.Become(kubelet.Succeed(), active[0])
		w.Until(observe.Want{Active: 4, Ready: 4, Succeeded: 1, Failed: 1})
		w.Become(kubelet.Fail(1), active[1:3]...)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Failed: 3})
		w.Become(kubelet.Succeed(), active[3:]...)
		w.Until(observe.Want{Succeeded: 3, Failed: 3, Conditions: completed})
	})
}

// A failure after the first success does not fail the Job, unless it exceeds the backoff limit.
func TestWorkQueueOverBackoffLimit(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(batchv1.JobSpec{Parallelism: new(int32(4)), BackoffLimit: new(int32(1))})
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		active := s.Active()
		w.Become(kubelet.Succeed(), active[0])
		w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 1})
		w.Become(kubelet.Fail(1), active[1])
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Failed: 1})
		w.Become(kubelet.Fail(1), active[2])
		w.Until(observe.Want{Succeeded: 1, Failed: 3, Conditions: failedByLimit})
	})
}

// Pods that are deleted as surplus do not count as failures. More of them than the backoff
// limit are deleted here.
func TestChangingParallelism(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.View.Always("there is no failure", func(s observe.State) bool { return s.Job == nil || s.Job.Status.Failed == 0 })
		w.Create(batchv1.JobSpec{Parallelism: new(int32(5)), BackoffLimit: new(int32(1))})
		w.Until(observe.Want{Active: 5, Ready: 5})
		for _, parallelism := range []int32{2, 4, 0, 3} {
			setParallelism(w, parallelism)
			w.Until(observe.Want{Active: parallelism, Ready: parallelism})
		}
		w.Become(kubelet.Succeed(), w.View.State().Active()...)
		w.Until(observe.Want{Succeeded: 3, Conditions: completed})
	})
}

// When parallelism decreases, pods that are not ready are deleted first: of two ready pods and
// two others, the ready ones stay.
func TestLessParallelismKeepsReadyPods(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Index%2 == 0 {
			return kubelet.Wait()
		}
		return kubelet.Run()
	}
	both(t, script, func(w *world.World) {
		spec := indexed(4)
		spec.Completions = new(int32(6))
		w.Create(spec)
		w.Until(observe.Want{Active: 4, Ready: 2})
		setParallelism(w, 2)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		if got := s.Active(); observe.Index(got[0]) != 1 || observe.Index(got[1]) != 3 {
			w.T.Errorf("indexes %d and %d run, want 1 and 3", observe.Index(got[0]), observe.Index(got[1]))
		}
	})
}

// At most as many pods run as there are completions left, and failed pods are replaced.
func TestParallelWithCompletions(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Attempt < 2 {
			return kubelet.Wait()
		}
		return kubelet.Run()
	}
	both(t, script, func(w *world.World) {
		spec := regular(12)
		spec.Parallelism = new(int32(10))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 10, Ready: 8})
		limitPods(w, 13)
		active := s.Active()
		w.Become(kubelet.Fail(1), active[0])
		w.When("a failure", func(s observe.State) bool { return s.Job.Status.Failed == 1 })
		w.Become(kubelet.Succeed(), active[1:]...)
		s = w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 9, Failed: 1})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 12, Failed: 1, Conditions: completed})
	})
}

// A Job with zero completions is complete at once.
func TestZeroCompletions(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]batchv1.JobSpec{"regular": regular(0), "indexed": indexed(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
				limitPods(w, 0)
				w.Create(spec)
				w.Until(observe.Want{Conditions: completed})
			})
		})
	}
}

// Each pod has its index as annotation, label, environment variable and hostname. Each index
// succeeds once, the lowest start first, and a failed index runs again.
func TestIndexedJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := indexed(4)
		spec.Parallelism = new(int32(3))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		for i, pod := range s.Active() {
			index := strconv.Itoa(i)
			label, host := pod.Labels[batchv1.JobCompletionIndexAnnotation], "job-"+index
			env := pod.Spec.Containers[0].Env
			if observe.Index(pod) != i || label != index || pod.Spec.Hostname != host || len(env) != 1 || env[0].Name != "JOB_COMPLETION_INDEX" {
				w.T.Errorf("pod %d: index %d, label %q, hostname %q, environment %v", i, observe.Index(pod), label, pod.Spec.Hostname, env)
			}
		}
		w.Become(kubelet.Succeed(), s.OfIndex(1)...)
		s = w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 1, Completed: "1"})
		w.Become(kubelet.Fail(1), s.OfIndex(2)...)
		s = w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 1, Failed: 1, Completed: "1"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 4, Failed: 1, Completed: "0-3", Conditions: completed})
	})
}
