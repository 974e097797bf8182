package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// The reason names the rule that failed the Job (KEP-4443). The built-in controller does not do
// this.
func TestNamedRule(t *testing.T) {
	t.Parallel()
	onlyJobfate(t, kubelet.Always(kubelet.Fail(42)), func(w *world.World) {
		w.CreateJob(&batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name:        world.JobName,
				Annotations: map[string]string{"jobfate.dev/failure-rule-names": `{"0": "BadConfiguration"}`},
			},
			Spec: batchv1.JobSpec{
				PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
					Action: batchv1.PodFailurePolicyActionFailJob,
					OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
						Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42},
					},
				}}},
			},
		})
		w.Until(observe.Want{Failed: 1, Conditions: []string{
			"FailureTarget/PodFailurePolicy_BadConfiguration", "Failed/PodFailurePolicy_BadConfiguration",
		}})
	})
}
