package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

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

// The status counts ready pods, also while the Job is suspended and resumed.
func TestReadyPods(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Wait()), func(w *world.World) {
		w.Create(batchv1.JobSpec{Parallelism: new(int32(3))})
		s := w.Until(observe.Want{Active: 3})
		w.Become(kubelet.Run(), s.Active()[0])
		w.Until(observe.Want{Active: 3, Ready: 1})
		w.Become(kubelet.Life{Forever: true, Unready: true}, s.Active()[1])
		w.When("a pod runs and is not ready", func(now observe.State) bool {
			return now.All[s.Active()[1].Name].Status.Phase == corev1.PodRunning
		})
		marker(w)
		w.Until(observe.Want{Active: 3, Ready: 1})
		setSuspend(w, true)
		w.Until(observe.Want{Conditions: suspended})
	})
}
