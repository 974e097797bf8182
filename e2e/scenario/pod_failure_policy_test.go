package scenario

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

const (
	failJob = batchv1.PodFailurePolicyActionFailJob
	ignore  = batchv1.PodFailurePolicyActionIgnore
	count   = batchv1.PodFailurePolicyActionCount
)

// once is a script in which first pods end in a given way and replacements succeed.
func once(first kubelet.Life) kubelet.Script {
	return func(p kubelet.Pod) kubelet.Life {
		if p.Attempt == 0 {
			return first
		}
		return kubelet.Succeed()
	}
}

// Evicted pods get the condition DisruptionTarget. An Ignore rule matches it, although a
// FailJob rule matches their exit code.
func TestPodFailurePolicyIgnoreEviction(t *testing.T) {
	t.Parallel()
	both(t, once(kubelet.Run()), func(w *world.World) {
		spec := indexed(3)
		spec.BackoffLimit = new(int32(0))
		spec.PodFailurePolicy = failurePolicy(onCondition(ignore, corev1.DisruptionTarget), onExit(failJob, 143))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		for _, pod := range s.Active() {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: w.Namespace}}
			w.Must(w.Client.CoreV1().Pods(w.Namespace).EvictV1(w.T.Context(), eviction))
		}
		w.Until(observe.Want{Succeeded: 3, Completed: "0-2", Conditions: completed})
	})
}

// A rule may name a container. The same exit code of another container does not match: the
// first pod here is counted, and the second fails the Job.
func TestPodFailurePolicyContainerName(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Attempt == 0 {
			return kubelet.Succeed().Exiting("helper", 5)
		}
		return kubelet.Succeed().Exiting("worker", 5)
	}
	both(t, script, func(w *world.World) {
		rule := onExit(failJob, 5)
		rule.OnExitCodes.ContainerName = new("worker")
		spec := batchv1.JobSpec{PodFailurePolicy: failurePolicy(rule)}
		spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Image: "image"}, {Name: "helper", Image: "image"}}
		w.Create(spec)
		w.Until(observe.Want{Failed: 2, Conditions: failedByPolicy})
	})
}

// A rule may match any condition of a pod. The message names the condition.
func TestPodFailurePolicyFailJobOnPodCondition(t *testing.T) {
	t.Parallel()
	script := kubelet.Always(kubelet.Fail(1).With(corev1.PodCondition{Type: "ConfigIssue", Status: corev1.ConditionTrue}))
	both(t, script, func(w *world.World) {
		w.Create(batchv1.JobSpec{PodFailurePolicy: failurePolicy(onExit(count, 2), onCondition(failJob, "ConfigIssue"))})
		s := w.Until(observe.Want{Failed: 1, Conditions: failedByPolicy})
		want := fmt.Sprintf("Pod %s/%s has condition ConfigIssue matching FailJob rule at index 1", w.Namespace, s.Pods()[0].Name)
		if got := message(s.Job, batchv1.JobFailed); got != want {
			w.T.Errorf("the message is %q, want %q", got, want)
		}
	})
}

// A condition matches only with the status that the rule names.
func TestPodFailurePolicyConditionOfOtherStatus(t *testing.T) {
	t.Parallel()
	script := once(kubelet.Fail(1).With(corev1.PodCondition{Type: "ConfigIssue", Status: corev1.ConditionFalse}))
	both(t, script, func(w *world.World) {
		w.Create(batchv1.JobSpec{PodFailurePolicy: failurePolicy(onCondition(failJob, "ConfigIssue"))})
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Conditions: completed})
	})
}

// The reason names the rule that failed the Job (KEP-4443). The built-in controller does not do
// this.
func TestNamedRule(t *testing.T) {
	t.Parallel()
	play(t, kubelet.Always(kubelet.Fail(42)), nil, func(w *world.World) {
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
