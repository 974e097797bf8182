package scenario

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
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
		s := w.Play(`create {completions: 3, parallelism: 3, completionMode: Indexed, backoffLimit: 0, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}, {action: FailJob, onExitCodes: {operator: In, values: [143]}}]}}
			until active=3 ready=3`)
		for _, pod := range s.Active() {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: w.Namespace}}
			w.Must(w.Client.CoreV1().Pods(w.Namespace).EvictV1(w.T.Context(), eviction))
		}
		w.Until("succeeded=3 completed=0-2 " + world.Completed)
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
		w.Play(`create {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {containerName: worker, operator: In, values: [5]}}]}, template: {spec: {containers: [{name: worker, image: image}, {name: helper, image: image}]}}}
			until failed=2 ` + world.FailedByPolicy)
	})
}

// A rule may match any condition of a pod. The message names the condition.
func TestPodFailurePolicyFailJobOnPodCondition(t *testing.T) {
	t.Parallel()
	script := kubelet.Always(kubelet.Fail(1).With(corev1.PodCondition{Type: "ConfigIssue", Status: corev1.ConditionTrue}))
	both(t, script, func(w *world.World) {
		s := w.Play(`create {podFailurePolicy: {rules: [{action: Count, onExitCodes: {operator: In, values: [2]}}, {action: FailJob, onPodConditions: [{type: ConfigIssue, status: "True"}]}]}}
			until failed=1 ` + world.FailedByPolicy)
		w.Play(fmt.Sprintf("message Failed Pod %s/%s has condition ConfigIssue matching FailJob rule at index 1", w.Namespace, s.Pods()[0].Name))
	})
}

// A condition matches only with the status that the rule names.
func TestPodFailurePolicyConditionOfOtherStatus(t *testing.T) {
	t.Parallel()
	script := once(kubelet.Fail(1).With(corev1.PodCondition{Type: "ConfigIssue", Status: corev1.ConditionFalse}))
	both(t, script, func(w *world.World) {
		w.Play(`create {podFailurePolicy: {rules: [{action: FailJob, onPodConditions: [{type: ConfigIssue, status: "True"}]}]}}
			until succeeded=1 failed=1 ` + world.Completed)
	})
}

// The reason names the rule that failed the Job (KEP-4443). The built-in controller does not do
// this.
func TestNamedRule(t *testing.T) {
	t.Parallel()
	play(t, kubelet.Always(kubelet.Fail(42)), nil, func(w *world.World) {
		job := world.NewJob(world.JobName, nil, batchv1.JobSpec{})
		job.Annotations = map[string]string{"jobfate.dev/failure-rule-names": `{"0": "BadConfiguration"}`}
		podtest.ExitRule(batchv1.PodFailurePolicyActionFailJob, 42)(job)
		w.CreateJob(job)
		w.Until("failed=1 FailureTarget/PodFailurePolicy_BadConfiguration Failed/PodFailurePolicy_BadConfiguration")
	}, jobfate)
}
