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

const (
	// The patches that a user sends to take a pod from its Job, and to give it back.
	disown  = `{"metadata":{"ownerReferences":null}}`
	unlabel = `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}}`
)

func relabel(job *batchv1.Job) string {
	return `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"` + string(job.UID) + `"}}}`
}

// A pod that has lost its owner but kept its labels is adopted again, and is not replaced.
func TestOrphanIsAdopted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		patchPod(w, pod, disown)
		w.When("the pod has no owner", func(s observe.State) bool { return len(s.All[pod.Name].OwnerReferences) == 0 })
		w.When("the pod is owned again", func(now observe.State) bool { return metav1.IsControlledBy(now.All[pod.Name], s.Job) })
		s = w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A pod whose labels no longer match is released, loses its finalizer, and is replaced. When
// its labels match again it is adopted as surplus, and the youngest pod is deleted.
func TestReleasedAndAdopted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		patchPod(w, pod, unlabel)
		w.When("the pod is released", func(now observe.State) bool {
			p := now.All[pod.Name]
			return len(p.OwnerReferences) == 0 && len(p.Finalizers) == 0
		})
		w.Until(observe.Want{Active: 2, Ready: 2})
		patchPod(w, pod, relabel(s.Job))
		w.When("the pod is adopted again", func(now observe.State) bool { return metav1.IsControlledBy(now.All[pod.Name], s.Job) })
		w.When("one of three is gone", func(now observe.State) bool { return len(now.All) == 2 })
		now := w.Until(observe.Want{Active: 2, Ready: 2})
		for _, late := range without(now.Active(), s.Active()) {
			w.T.Errorf("pod %s, the youngest, is still there", late.Name)
		}
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A pod that ends after its release is not counted. A pod that is adopted again after it has
// ended is counted.
func TestReleasedPodEnds(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		patchPod(w, pod, unlabel)
		w.When("the pod is released", func(now observe.State) bool { return len(now.All[pod.Name].Finalizers) == 0 })
		w.Become(kubelet.Succeed(), pod)
		w.When("the pod has ended", func(now observe.State) bool { return now.All[pod.Name].Status.Phase == corev1.PodSucceeded })
		w.Until(observe.Want{Active: 2, Ready: 2})
		patchPod(w, pod, relabel(s.Job))
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A selector chosen by the user matches a pod that existed before the Job. The pod is adopted,
// with a finalizer, before any other is created.
func TestPodBeforeItsJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		limitPods(w, 2)
		labels := map[string]string{"app": "work"}
		_, err := w.Client.CoreV1().Pods(w.Namespace).Create(w.T.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "early", Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			},
		}, metav1.CreateOptions{})
		w.Must(err)
		w.When("the early pod runs", func(s observe.State) bool {
			return s.All["early"] != nil && s.All["early"].Status.Phase == corev1.PodRunning
		})
		spec := regular(2)
		spec.ManualSelector, spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: labels}
		spec.Template.Labels = labels
		w.Create(spec)
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.When("the early pod is tracked", func(s observe.State) bool { return len(s.All["early"].Finalizers) == 1 })
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A pod that has been counted and then loses its owner is adopted and counted again, because it
// looks like a pod that was never counted. jobfate copies this weakness of Kubernetes, as
// docs/divergences.md says.
func TestCountedPodIsAdopted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(3))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Succeed(), s.Active()[0])
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1})
		w.When("it has no finalizer", func(now observe.State) bool { return len(now.Tracked()) == 2 })
		patchPod(w, s.Active()[0], disown)
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 3, Conditions: completed})
	})
}

// A Job that has ended adopts and releases no pods.
func TestEndedJobAdoptsNothing(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
		w.When("no pod has a finalizer", func(s observe.State) bool { return len(s.Tracked()) == 0 })
		disowned, unlabeled := s.Active()[0], s.Active()[1]
		patchPod(w, disowned, disown)
		patchPod(w, unlabeled, unlabel)
		marker(w)
		now := w.View.State()
		if len(now.All[disowned.Name].OwnerReferences) != 0 || len(now.All[unlabeled.Name].OwnerReferences) != 1 {
			w.T.Errorf("owners: %v and %v, want none and the Job", now.All[disowned.Name].OwnerReferences, now.All[unlabeled.Name].OwnerReferences)
		}
	})
}
