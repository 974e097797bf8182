package scenario

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

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

// As in Kubernetes' own test, nothing is awaited: the other pods succeed and the controller
// stops while it ends the Job. The number of failures varies, but each of the ten pods
// counts once, and the Job fails.
func TestFailedWithInterruptMeanwhile(t *testing.T) {
	play(t, kubelet.Always(kubelet.Run().Dying(0, 0)), nil, func(w *world.World) {
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

// A condition of another client stays in the status to the end, before those of the controller.
func TestForeignConditionStays(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(regular(2))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		_, err := w.Client.BatchV1().Jobs(w.Namespace).Patch(w.T.Context(), world.JobName, types.MergePatchType,
			[]byte(`{"status":{"conditions":[{"type":"Ours","status":"True","reason":"Why"}]}}`), metav1.PatchOptions{}, "status")
		w.Must(err)
		ours := []string{"Ours/Why"}
		w.Until(observe.Want{Active: 2, Ready: 2, Conditions: ours})
		w.Become(kubelet.Succeed(), s.Active()[0])
		w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Conditions: ours})
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 2, Conditions: append(ours, completed...)})
	})
}
