package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/server"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// Each controller frees orphans, whoever ran their Job. So these scenarios are also played with
// jobfate's controller alone. Scenarios with a restart are in backoff_limit_test.go.
var freeing = map[string]func(*world.World){
	"background": deleteJob(metav1.DeletePropagationBackground),
	"foreground": deleteJob(metav1.DeletePropagationForeground),
	"orphan":     orphanPods,
	"no owner":   orphanOfNoOwner,
}

func TestFreePods(t *testing.T) {
	t.Parallel()
	for name, scenario := range freeing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run()), scenario)
		})
	}
}

func TestFreePodsAlone(t *testing.T) {
	standAside(t, builtIn)
	for name, scenario := range freeing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onlyJobfate(t, kubelet.Always(kubelet.Run()), scenario)
		})
	}
}

// standAside stops a controller until the test ends. Such a test must not run in parallel.
func standAside(t *testing.T, c *server.Controller) {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Start(); err != nil {
			t.Error(err)
		}
	})
}

// All pods, ended and running, are deleted with their Job. Their finalizers do not block
// that.
func deleteJob(how metav1.DeletionPropagation) func(*world.World) {
	return func(w *world.World) {
		limitPods(w, 3)
		w.Create(regular(3))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.Active()[0])
		w.When("the pod has ended", func(s observe.State) bool { return len(s.Active()) == 2 })
		w.Delete(how)
		w.When("all are gone", func(s observe.State) bool { return s.Job == nil && len(s.All) == 0 })
		marker(w)
	}
}

// The pods stay and keep running, without a Job and a finalizer.
func orphanPods(w *world.World) {
	limitPods(w, 2)
	w.Create(regular(2))
	w.Until(observe.Want{Active: 2, Ready: 2})
	w.Delete(metav1.DeletePropagationOrphan)
	w.When("the Job is gone, and the pods are free", func(s observe.State) bool {
		return s.Job == nil && len(s.All) == 2 && len(s.Tracked()) == 0
	})
	marker(w)
	for _, pod := range w.View.State().Sorted(isJobPod) {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || len(pod.OwnerReferences) > 0 {
			w.T.Errorf("pod %s is %s, deleted at %v, owned by %v", pod.Name, pod.Status.Phase, pod.DeletionTimestamp, pod.OwnerReferences)
		}
	}
}

// A pod that loses its owner and its labels at once loses its finalizer too, and is replaced.
func orphanOfNoOwner(w *world.World) {
	w.Create(regular(2))
	s := w.Until(observe.Want{Active: 2, Ready: 2})
	pod := s.Active()[0]
	patchPod(w, pod, `{"metadata":{"ownerReferences":null,"labels":null}}`)
	w.When("the pod is freed", func(now observe.State) bool { return len(now.All[pod.Name].Finalizers) == 0 })
	s = w.When("another takes its place", func(now observe.State) bool { return len(without(now.Active(), s.Pods())) == 1 })
	w.Become(kubelet.Succeed(), s.Active()...)
	w.Until(observe.Want{Succeeded: 2, Conditions: completed})
}

// isJobPod reports, by a label, whether a pod belongs to the Job and not to a marker.
func isJobPod(pod *corev1.Pod) bool { return pod.Labels["job-name"] == world.JobName }

// If another client removes the finalizer of a pod, the pod is not counted, because it may
// be gone before the controller observes its end. It is replaced.
func TestFinalizerRemovedByAnotherClient(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"regular", "indexed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
				spec := regular(2)
				if mode == "indexed" {
					spec = indexed(2)
				}
				w.Create(spec)
				s := w.Until(observe.Want{Active: 2, Ready: 2})
				dropFinalizers(w, s.Active()[0])
				w.Become(kubelet.Succeed(), s.Active()[0])
				again := w.When("another pod in its place", func(now observe.State) bool {
					return len(without(now.Active(), s.Pods())) == 1 && now.Job.Status.Active == 2 && *now.Job.Status.Ready == 2
				})
				w.Become(kubelet.Succeed(), again.Active()...)
				w.Until(observe.Want{Succeeded: 2, Completed: ifIndexed(spec, "0,1"), Conditions: completed})
			})
		})
	}
}

// A running pod that is deleted without its finalizer is gone before it is counted. It is
// replaced, and does not count as a failure.
func TestPodGoneBeforeItIsCounted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
		w.Create(indexed(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		dropFinalizers(w, pod)
		w.Must(w.Client.CoreV1().Pods(w.Namespace).Delete(w.T.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		w.When("the pod is gone", func(s observe.State) bool { return s.All[pod.Name] == nil })
		s = w.When("another pod in its place", func(now observe.State) bool {
			return len(without(now.Active(), s.Pods())) == 1 && *now.Job.Status.Ready == 2
		})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: completed})
	})
}

// A pod ends, and another client removes its finalizer, while no controller runs. The
// controller cannot know whether the pod was counted, so it does not count it.
func TestFinalizerRemovedDuringRestart(t *testing.T) {
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(indexed(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Restart(func() {
			w.Become(kubelet.Succeed(), s.Active()...)
			w.When("the pods have ended", func(s observe.State) bool { return len(s.Active()) == 0 })
			dropFinalizers(w, s.Active()[0])
		})
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Completed: "1"})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: completed})
	})
}
