package scenario

import (
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

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
