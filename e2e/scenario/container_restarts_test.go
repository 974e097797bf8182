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

// onFailure is the spec of a Job whose containers restart in their pods.
func onFailure(pods, backoffLimit int32) batchv1.JobSpec {
	spec := regular(pods)
	spec.BackoffLimit = &backoffLimit
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	return spec
}

// restart restarts the containers of a pod, as its kubelet does.
func restart(w *world.World, pod *corev1.Pod, times int32) {
	w.T.Helper()
	pods := w.Client.CoreV1().Pods(w.Namespace)
	pod, err := pods.Get(w.T.Context(), pod.Name, metav1.GetOptions{})
	w.Must(err)
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].RestartCount = times
	}
	_, err = pods.UpdateStatus(w.T.Context(), pod, metav1.UpdateOptions{})
	w.Must(err)
}

// A container fails once and then succeeds in the same pod, so no pod has failed.
func TestRestartedContainersSucceed(t *testing.T) {
	t.Parallel()
	script := kubelet.Always(kubelet.Life{Restarts: 1})
	both(t, script, func(w *world.World) {
		limitPods(w, 4)
		spec := onFailure(4, 6)
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		w.Until(observe.Want{Succeeded: 4, Conditions: completed})
	})
}

// "the number of retries in all the containers of Pods with .status.phase equal to Pending
// or Running. If either of the calculations reaches the .spec.backoffLimit, the Job is
// considered failed." The pods end with the Job.
func TestRestartsReachBackoffLimit(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(onFailure(2, 3))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pods := s.Active()
		restart(w, pods[0], 2)
		marker(w)
		w.Until(observe.Want{Active: 2, Ready: 2})
		restart(w, pods[1], 1)
		w.Until(observe.Want{Failed: 2, Conditions: failedByLimit})
		wantEvents(w, "BackoffLimitExceeded")
	})
}

// A limit of 0 allows no restart at all.
func TestNoRestartAllowed(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(onFailure(1, 0))
		s := w.Until(observe.Want{Active: 1, Ready: 1})
		restart(w, s.Active()[0], 1)
		w.Until(observe.Want{Failed: 1, Conditions: failedByLimit})
	})
}

// The restarts of ended pods are forgotten: two pods, one after another, with two restarts each
// stay within a limit of three.
func TestRestartsOfEndedPodsAreForgotten(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := onFailure(2, 3)
		spec.Parallelism = new(int32(1))
		w.Create(spec)
		for done := range int32(2) {
			s := w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: done})
			restart(w, s.Active()[0], 2)
			w.Become(kubelet.Life{Restarts: 2}, s.Active()...)
		}
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A whole pod may still fail, for example by eviction. It is replaced, and counts as one
// failure.
func TestPodFailsInSpiteOfRestarts(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(onFailure(1, 1))
		for failed := range int32(2) {
			s := w.Until(observe.Want{Active: 1, Ready: 1, Failed: failed})
			w.Become(kubelet.Life{End: kubelet.End{Lost: true, Reason: "Evicted"}}, s.Active()...)
		}
		w.Until(observe.Want{Failed: 2, Conditions: failedByLimit})
	})
}
