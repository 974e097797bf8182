package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// A Job fails at the first failure above its limit.
func TestBackoffLimitExceeded(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Fail(1)), func(w *world.World) {
		w.Create(batchv1.JobSpec{BackoffLimit: new(int32(1))})
		s := w.Until(observe.Want{Failed: 2, Conditions: failedByLimit})
		if got, want := message(s.Job, batchv1.JobFailed), "Job has reached the specified backoff limit"; got != want {
			w.T.Errorf("the message is %q, want %q", got, want)
		}
		if got := len(s.Pods()); got != 2 {
			w.T.Errorf("%d pods are left, want 2", got)
		}
	})
}

// One of a hundred pods fails as soon as it exists, while others are still being created. All
// pods are deleted and counted, and none keeps the finalizer.
func TestBackoffLimitExceededClearsFinalizers(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Index == 0 {
			return kubelet.Fail(1)
		}
		return kubelet.Run()
	}
	both(t, script, func(w *world.World) {
		spec := indexed(100)
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.When("the Job has ended", func(s observe.State) bool { return s.Job != nil && observe.Ended(s.Job) })
		if !(observe.Want{Failed: 100, Conditions: failedByLimit}).Met(s) {
			w.T.Errorf("the Job ended with %s, want 100 failed, for the backoff limit", observe.Status(s.Job))
		}
	})
}

// The Job is deleted just after FailureTarget is set. Its running pods lose the finalizer.
// If the deletion policy keeps them, nothing else about them changes.
func TestBackoffLimitExceededThenDeleted(t *testing.T) {
	t.Parallel()
	for _, how := range []metav1.DeletionPropagation{
		metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
	} {
		t.Run(string(how), func(t *testing.T) {
			both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
				spec := regular(3)
				spec.BackoffLimit = new(int32(0))
				w.Create(spec)
				s := w.Until(observe.Want{Active: 3, Ready: 3})
				w.Become(kubelet.Fail(1), s.Active()[0])
				w.Until(observe.Want{Failed: 3, Terminating: 2, Conditions: failedByLimit[:1]})
				w.Delete(how)
				w.Become(kubelet.Run(), s.Active()...)
				w.When("the Job is gone", func(s observe.State) bool { return s.Job == nil })
				keeps := how == metav1.DeletePropagationOrphan
				w.When("the failed pod is there as an orphan, or is gone", func(s observe.State) bool {
					left := s.Sorted(func(p *corev1.Pod) bool { return metav1.GetControllerOf(p) == nil || !keeps })
					return keeps && len(left) == 1 && len(s.All) == 1 || !keeps && len(left) == 0
				})
			})
		})
	}
}

// alone plays a scenario with each controller in turn while the other one is stopped,
// because each controller frees the orphans of both.
func alone(t *testing.T, script kubelet.Script, scenario func(*world.World)) {
	t.Helper()
	sides := []world.Side{world.Jobfate(jobfate), world.BuiltIn(builtIn)}
	for i, side := range sides {
		other := sides[1-i]
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
		play(t, script, scenario, side)
		if err := other.Start(); err != nil {
			t.Error(err)
		}
	}
}

// While no controller runs, a pod fails, others keep running, and the Job is deleted without
// its pods. All pods are freed afterwards.
func TestDeletedWithOrphansDuringRestart(t *testing.T) {
	alone(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := regular(3)
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Restart(func() {
			w.Become(kubelet.Fail(1), s.Active()[0])
			w.Delete(metav1.DeletePropagationOrphan)
			w.When("the Job is gone, its pods are orphans, one has failed", func(s observe.State) bool {
				return s.Job == nil && len(s.Tracked()) == 3 &&
					len(s.Sorted(func(p *corev1.Pod) bool { return metav1.GetControllerOf(p) == nil })) == 3 &&
					len(s.Sorted(func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })) == 1
			})
		})
		s = w.When("all pods are freed", func(s observe.State) bool { return len(s.Tracked()) == 0 })
		if got := len(s.All); got != 3 {
			w.T.Errorf("%d pods are left, want 3", got)
		}
	})
}

// The Job and its pods are deleted while no controller runs. The pods are gone as soon as one
// runs.
func TestDeletedWithPodsDuringRestart(t *testing.T) {
	alone(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		w.Until(observe.Want{Active: 2, Ready: 2})
		w.Restart(func() {
			w.Delete(metav1.DeletePropagationBackground)
			w.When("the Job is gone, its pods are being deleted", func(s observe.State) bool {
				return s.Job == nil && len(s.Tracked()) == 2 &&
					len(s.Sorted(func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })) == 2
			})
		})
		w.When("no pod is left", func(s observe.State) bool { return len(s.All) == 0 })
	})
}

// As in Kubernetes' own test, nothing is awaited: the other pods succeed and the controller
// stops while it ends the Job. The number of failures varies, but each of the ten pods
// counts once, and the Job fails.
func TestFailedWithInterruptMeanwhile(t *testing.T) {
	play(t, kubelet.Always(kubelet.Run().Dying(0, 0)), func(w *world.World) {
		spec := regular(10)
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 10, Ready: 10})
		w.Become(kubelet.Fail(1), s.Active()[0])
		w.When("the first pod is being deleted", func(s observe.State) bool { return len(s.Active()) < 9 })
		w.Restart(func() {})
		s = w.When("the Job has ended", func(s observe.State) bool { return s.Job != nil && observe.Ended(s.Job) })
		if got := s.Job.Status.Failed + s.Job.Status.Succeeded; got != 10 || observe.Conditions(s.Job)[1] != failedByLimit[1] {
			w.T.Errorf("the Job ended with %s, want ten pods counted, and it Failed for its backoff limit", observe.Status(s.Job))
		}
	}, world.Jobfate(jobfate), world.BuiltIn(builtIn))
}
