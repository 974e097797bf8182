package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// FailureTarget or SuccessCriteriaMet is set when the outcome of a Job is decided. Failed or
// Complete is set when all its pods have ended. In these scenarios pods keep running after
// their deletion until the test ends them, and then exit with 0, which changes nothing.

// lingers is a script in which pods keep running when they are deleted.
func lingers() kubelet.Script { return kubelet.Always(kubelet.Run().NeverDying()) }

// decidedThenEnded waits for the interim condition, ends the lingering pods one at a time, and
// waits for the terminal condition.
func decidedThenEnded(w *world.World, ended observe.Want) {
	w.T.Helper()
	decided := ended
	decided.Conditions = ended.Conditions[:1]
	lingering := func(s observe.State) []*corev1.Pod {
		return s.Sorted(func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil && p.Status.Phase == corev1.PodRunning })
	}
	s := w.When("all pods that run are being deleted", func(s observe.State) bool {
		return len(s.Active()) == 0 && len(lingering(s)) > 0
	})
	for left := lingering(s); len(left) > 0; left = left[1:] {
		decided.Terminating = int32(len(left))
		w.Until(decided)
		w.Become(kubelet.Run().Dying(0, 0), left[0])
	}
	w.Until(ended)
}

func TestTerminalConditionBackoffLimitExceeded(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		spec := regular(3)
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.Active()[0])
		decidedThenEnded(w, observe.Want{Failed: 3, Conditions: failedByLimit})
	})
}

// With the replacement policy Failed, too, pods that are deleted with their Job count at once.
func TestTerminalConditionReplacementPolicyFailed(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		spec := indexed(3)
		spec.BackoffLimit = new(int32(0))
		spec.PodReplacementPolicy = new(batchv1.Failed)
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		decidedThenEnded(w, observe.Want{Failed: 3, Conditions: failedByLimit})
	})
}

func TestTerminalConditionPodFailurePolicy(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		spec := regular(3)
		spec.PodFailurePolicy = failurePolicy(onExit(failJob, 5))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(5), s.Active()[0])
		decidedThenEnded(w, observe.Want{Failed: 3, Conditions: failedByPolicy})
	})
}

func TestTerminalConditionMaxFailedIndexes(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		spec := perIndex(3, 0)
		spec.MaxFailedIndexes = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		decidedThenEnded(w, observe.Want{Failed: 3, FailedIndexes: "1", Conditions: failedByMaxIndexes})
	})
}

// The deadline is long enough for the pods to be ready before it passes.
func TestTerminalConditionDeadlineExceeded(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		spec := regular(2)
		spec.ActiveDeadlineSeconds = new(int64(10))
		w.Create(spec)
		w.Until(observe.Want{Active: 2, Ready: 2})
		decidedThenEnded(w, observe.Want{Failed: 2, Conditions: failedFor("DeadlineExceeded")})
	})
}

// An Indexed Job is scaled down to indexes that have already succeeded.
func TestTerminalConditionScaledDown(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		w.Create(indexed(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Completed: "0"})
		w.Update(func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = new(int32(1)), new(int32(1)) })
		decidedThenEnded(w, observe.Want{Succeeded: 1, Completed: "0", Conditions: completed})
	})
}

// A Job without completions is complete after its first success, when the other pods have
// ended. These are not deleted, and count.
func TestTerminalConditionWorkQueue(t *testing.T) {
	t.Parallel()
	both(t, lingers(), func(w *world.World) {
		w.Create(batchv1.JobSpec{Parallelism: new(int32(3))})
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.Active()[0])
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1})
		w.Become(kubelet.Fail(1), s.Active()[1])
		w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1})
		w.Become(kubelet.Succeed(), s.Active()[2])
		w.Until(observe.Want{Succeeded: 2, Failed: 1, Conditions: completed})
	})
}

// A finalizer of another client keeps an ended pod, but does not delay the Job.
func TestTerminalConditionForeignFinalizer(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := regular(2)
		spec.BackoffLimit = new(int32(0))
		spec.Template.Finalizers = []string{"example.com/keep"}
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.Active()[0])
		s = w.Until(observe.Want{Failed: 2, Conditions: failedByLimit})
		if got := len(s.Pods()); got != 2 {
			w.T.Errorf("%d pods are left, want 2", got)
		}
	})
}

// The decision in the status survives a restart: the Job fails although its limit is raised
// in the meantime.
func TestTerminalConditionOverRestart(t *testing.T) {
	both(t, lingers(), func(w *world.World) {
		spec := regular(2)
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.Active()[0])
		w.Until(observe.Want{Failed: 2, Terminating: 1, Conditions: failedByLimit[:1]})
		w.Restart(func() { w.Update(func(job *batchv1.Job) { job.Spec.BackoffLimit = new(int32(6)) }) })
		decidedThenEnded(w, observe.Want{Failed: 2, Conditions: failedByLimit})
	})
}
