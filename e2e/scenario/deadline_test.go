package scenario

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

var failedByDeadline = failedFor("DeadlineExceeded")

// withDeadline gives a spec an active deadline.
func withDeadline(spec batchv1.JobSpec, seconds int64) batchv1.JobSpec {
	spec.ActiveDeadlineSeconds = &seconds
	return spec
}

// failedAfter returns the time between the start of a Job and its failure.
func failedAfter(job *batchv1.Job) time.Duration {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailureTarget {
			return c.LastTransitionTime.Sub(job.Status.StartTime.Time)
		}
	}
	return 0
}

// "The activeDeadlineSeconds applies to the duration of the job, no matter how many Pods are
// created": running pods are deleted, and none is replaced.
func TestActiveDeadline(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		limitPods(w, 2)
		spec := withDeadline(regular(4), 4)
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		w.Until(observe.Want{Active: 2, Ready: 2})
		end := w.Until(observe.Want{Failed: 2, Conditions: failedByDeadline})
		if after := failedAfter(end.Job); after < 4*time.Second {
			w.T.Errorf("the Job failed after %s, want 4s or more", after)
		}
		wantEvents(w, "DeadlineExceeded")
	})
}

// The deadline also ends a Job without pods that waits for a replacement: after three failures
// for 40 seconds.
func TestActiveDeadlineWhileBackingOff(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		limitPods(w, 3)
		w.Create(withDeadline(regular(3), 6))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.Active()...)
		w.Until(observe.Want{Failed: 3})
		end := w.Until(observe.Want{Failed: 3, Conditions: failedByDeadline})
		if after := failedAfter(end.Job); after > 30*time.Second {
			w.T.Errorf("the Job failed after %s, want about 6s", after)
		}
	})
}

// The deadline passes and a pod succeeds while no controller runs. The success still counts.
func TestActiveDeadlineOverRestart(t *testing.T) {
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withDeadline(regular(2), 4))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Restart(func() {
			w.Become(kubelet.Succeed().After(4*time.Second), s.Active()[0])
			w.When("the pod has ended", func(now observe.State) bool {
				return now.All[s.Active()[0].Name].Status.Phase == corev1.PodSucceeded
			})
		})
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Conditions: failedByDeadline})
	})
}

// The deadline does not count time while a Job is suspended, or before: it restarts when the
// Job is resumed. Another Job with the same deadline, which starts later, shows when it would
// have passed.
func TestActiveDeadlineOfSuspendedJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withDeadline(regular(2), 8))
		w.Until(observe.Want{Active: 2, Ready: 2})
		setSuspend(w, true)
		w.Until(observe.Want{Conditions: suspended})
		clock := w.CreateJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "clock"}, Spec: withDeadline(regular(1), 8)})
		w.When("the other Job has failed", func(s observe.State) bool {
			pods := s.Sorted(func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, clock) })
			return len(pods) > 0 && pods[0].DeletionTimestamp != nil
		})
		setSuspend(w, false)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A separate controller, ttl-after-finished, deletes Jobs that have ended. It does not run
// here, and the Job controller does not delete them.
func TestControllerIgnoresTTL(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Succeed()), func(w *world.World) {
		spec := regular(1)
		spec.TTLSecondsAfterFinished = new(int32(0))
		w.Create(spec)
		w.Until(observe.Want{Succeeded: 1, Conditions: completed})
		w.View.Always("the Job is there", func(s observe.State) bool { return s.Job != nil && s.Job.DeletionTimestamp == nil })
		w.Update(func(job *batchv1.Job) { job.Labels = map[string]string{"changed": "yes"} })
		marker(w)
	})
}
