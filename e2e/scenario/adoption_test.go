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
	// What a user sends to part a pod from its Job, and to bring it back.
	disown  = `{"metadata":{"ownerReferences":null}}`
	unlabel = `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":null}}}`
)

func relabel(job *batchv1.Job) string {
	return `{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"` + string(job.UID) + `"}}}`
}

// A pod that has lost its owner, and not its labels, is taken back, and none comes
// in its place.
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

// A pod whose labels no longer match is let go, without its finalizer, and another
// comes in its place. With its labels back it is taken back, as one too many: the
// youngest goes.
func TestReleasedAndAdopted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		patchPod(w, pod, unlabel)
		w.When("the pod is let go", func(now observe.State) bool {
			p := now.All[pod.Name]
			return len(p.OwnerReferences) == 0 && len(p.Finalizers) == 0
		})
		w.Until(observe.Want{Active: 2, Ready: 2})
		patchPod(w, pod, relabel(s.Job))
		w.When("the pod is taken back", func(now observe.State) bool { return metav1.IsControlledBy(now.All[pod.Name], s.Job) })
		w.When("one of three is gone", func(now observe.State) bool { return len(now.All) == 2 })
		now := w.Until(observe.Want{Active: 2, Ready: 2})
		for _, late := range without(now.Active(), s.Active()) {
			w.T.Errorf("pod %s, the youngest, is still there", late.Name)
		}
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// Of a pod that ends after it was let go nothing is counted. One that comes back
// when it has ended counts.
func TestReleasedPodEnds(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		pod := s.Active()[0]
		patchPod(w, pod, unlabel)
		w.When("the pod is let go", func(now observe.State) bool { return len(now.All[pod.Name].Finalizers) == 0 })
		w.Become(kubelet.Succeed(), pod)
		w.When("the pod has ended", func(now observe.State) bool { return now.All[pod.Name].Status.Phase == corev1.PodSucceeded })
		w.Until(observe.Want{Active: 2, Ready: 2})
		patchPod(w, pod, relabel(s.Job))
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: completed})
	})
}

// A selector that the user has chosen matches a pod that is there before the Job.
// It is adopted, with a finalizer, before any other is created.
func TestPodBeforeItsJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		neverMore(w, 2)
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

// A pod that has been counted, and then loses its owner, is adopted and counted
// again: nothing tells it from one that never was. It is copied, though not good,
// as docs/divergences.md says.
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

// A Job that has ended takes no pods, nor does it let any go.
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
