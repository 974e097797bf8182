package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// A FailJob rule of the pod failure policy fails the Job at the first matching failure. Pods
// that are still running are deleted first.
func TestPodFailurePolicyFailJob(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Index == 1 {
			return kubelet.Fail(5)
		}
		return kubelet.Run()
	}
	both(t, script, func(w *world.World) {
		w.Create(batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			Completions:    new(int32(3)),
			Parallelism:    new(int32(3)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{5},
				},
			}}},
		})
		end := w.Until(observe.Want{Failed: 3,
			Conditions: []string{"FailureTarget/PodFailurePolicy", "Failed/PodFailurePolicy"}})
		for _, pod := range end.Pods() {
			if pod.Status.Phase != corev1.PodFailed {
				w.T.Errorf("pod %s is %s at the end of the Job, want Failed", pod.Name, pod.Status.Phase)
			}
		}
	})
}
