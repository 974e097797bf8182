package metrics

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// story is the story of a Job, and the increments that it should cause.
type story struct {
	name   string
	script kubelet.Script
	play   func(*world.World)
	want   string
}

// stories are the cases in which Kubernetes' own tests check metrics, and some for label values that
// these tests omit.
var stories = []story{
	{
		name:   "parallel",
		script: kubelet.Always(kubelet.Run()),
		play: func(w *world.World) {
			w.Create(batchv1.JobSpec{Parallelism: new(int32(5))})
			s := w.Until(observe.Want{Active: 5, Ready: 5})
			w.Become(kubelet.Fail(1), s.Active()[:2]...)
			s = w.Until(observe.Want{Active: 5, Ready: 5, Failed: 2})
			w.Become(kubelet.Succeed(), s.Active()[0])
			s = w.Until(observe.Want{Active: 4, Ready: 4, Failed: 2, Succeeded: 1})
			w.Become(kubelet.Fail(1), s.Active()[:2]...)
			s = w.Until(observe.Want{Active: 2, Ready: 2, Failed: 4, Succeeded: 1})
			w.Become(kubelet.Succeed(), s.Active()...)
			w.Until(observe.Want{Failed: 4, Succeeded: 3, Conditions: completed})
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 5
			job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 2
			job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 4
			job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 3
			jobs_finished_total{completion_mode="NonIndexed",reason="CompletionsReached",result="succeeded"} 1
			terminated_pods_tracking_finalizer_total{event="add"} 7
			terminated_pods_tracking_finalizer_total{event="delete"} 7`,
	},
	{
		name:   "indexed",
		script: kubelet.Always(kubelet.Run()),
		play: func(w *world.World) {
			spec := indexed(4)
			spec.Parallelism = new(int32(3))
			w.Create(spec)
			s := w.Until(observe.Want{Active: 3, Ready: 3})
			w.Become(kubelet.Succeed(), s.OfIndex(1)...)
			s = w.Until(observe.Want{Active: 3, Ready: 3, Succeeded: 1, Completed: "1"})
			w.Become(kubelet.Fail(1), s.OfIndex(2)...)
			s = w.Until(observe.Want{Active: 3, Ready: 3, Failed: 1, Succeeded: 1, Completed: "1"})
			w.Become(kubelet.Succeed(), s.Active()...)
			w.Until(observe.Want{Failed: 1, Succeeded: 4, Completed: "0-3", Conditions: completed})
		},
		want: `
			job_finished_indexes_total{backoffLimit="global",status="succeeded"} 4
			job_pods_creation_total{reason="new",status="succeeded"} 4
			job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 1
			job_pods_finished_total{completion_mode="Indexed",result="failed"} 1
			job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 4
			jobs_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"} 1
			terminated_pods_tracking_finalizer_total{event="add"} 5
			terminated_pods_tracking_finalizer_total{event="delete"} 5`,
	},
	{
		// A pod whose failure is ignored does not count as finished.
		name: "pod failure policy",
		script: func(p kubelet.Pod) kubelet.Life {
			switch p.Attempt {
			case 0:
				return kubelet.Fail(1).Disrupted()
			case 1:
				return kubelet.Fail(10)
			}
			return kubelet.Fail(5)
		},
		play: func(w *world.World) {
			w.Create(batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				}},
				onExit(batchv1.PodFailurePolicyActionCount, 10),
				onExit(batchv1.PodFailurePolicyActionFailJob, 5),
			}}})
			w.Until(observe.Want{Failed: 2, Conditions: failedFor("PodFailurePolicy")})
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 2
			job_pods_creation_total{reason="recreate_failed",status="succeeded"} 1
			job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 2
			jobs_finished_total{completion_mode="NonIndexed",reason="PodFailurePolicy",result="failed"} 1
			pod_failures_handled_by_failure_policy_total{action="Count"} 1
			pod_failures_handled_by_failure_policy_total{action="FailJob"} 1
			pod_failures_handled_by_failure_policy_total{action="Ignore"} 1
			terminated_pods_tracking_finalizer_total{event="add"} 3
			terminated_pods_tracking_finalizer_total{event="delete"} 3`,
	},
	{
		name: "indexes fail",
		script: func(p kubelet.Pod) kubelet.Life {
			if p.Index == 0 {
				return kubelet.Fail(42)
			}
			return kubelet.Succeed()
		},
		play: func(w *world.World) {
			spec := indexed(3)
			spec.BackoffLimitPerIndex = new(int32(2))
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{onExit(batchv1.PodFailurePolicyActionFailIndex, 42)}}
			w.Create(spec)
			w.Until(observe.Want{Failed: 1, Succeeded: 2, Completed: "1,2", FailedIndexes: "0", Conditions: failedFor("FailedIndexes")})
		},
		want: `
			job_finished_indexes_total{backoffLimit="perIndex",status="failed"} 1
			job_finished_indexes_total{backoffLimit="perIndex",status="succeeded"} 2
			job_pods_creation_total{reason="new",status="succeeded"} 3
			job_pods_finished_total{completion_mode="Indexed",result="failed"} 1
			job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 2
			jobs_finished_total{completion_mode="Indexed",reason="FailedIndexes",result="failed"} 1
			pod_failures_handled_by_failure_policy_total{action="FailIndex"} 1
			terminated_pods_tracking_finalizer_total{event="add"} 3
			terminated_pods_tracking_finalizer_total{event="delete"} 3`,
	},
	{
		name:   "replaced once failed",
		script: kubelet.Always(kubelet.Run().NeverDying()),
		play:   func(w *world.World) { replaced(w, batchv1.Failed) },
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 2
			job_pods_creation_total{reason="recreate_failed",status="succeeded"} 2
			job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 2
			terminated_pods_tracking_finalizer_total{event="add"} 2
			terminated_pods_tracking_finalizer_total{event="delete"} 2`,
	},
	{
		// A pod that counts as failed while it is terminating has not ended when it loses its
		// finalizer.
		name:   "replaced while terminating",
		script: kubelet.Always(kubelet.Run().NeverDying()),
		play:   func(w *world.World) { replaced(w, batchv1.TerminatingOrFailed) },
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 2
			job_pods_creation_total{reason="recreate_terminating_or_failed",status="succeeded"} 2
			job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 2`,
	},
	{
		// "Pods never finished, so they are not counted in the metric." They have no node, so
		// no kubelet ends them before they lose their finalizer.
		name:   "the Job is deleted",
		script: kubelet.Always(kubelet.Life{Stuck: true, Direct: true}),
		play: func(w *world.World) {
			w.Create(batchv1.JobSpec{Parallelism: new(int32(2))})
			w.Until(observe.Want{Active: 2})
			w.Delete(metav1.DeletePropagationBackground)
			w.When("no pod is left", func(s observe.State) bool { return s.Job == nil && len(s.All) == 0 })
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 2`,
	},
}

// endings are stories in which the controller deletes running pods. Whether it observes the end
// of such a pod before it removes the finalizer depends on timing.
var endings = []story{
	{
		// Surplus pods are not counted.
		name:   "suspended",
		script: kubelet.Always(kubelet.Run()),
		play: func(w *world.World) {
			w.Create(batchv1.JobSpec{Parallelism: new(int32(2))})
			w.Until(observe.Want{Active: 2, Ready: 2})
			w.Update(func(job *batchv1.Job) { job.Spec.Suspend = new(true) })
			w.Until(observe.Want{Conditions: []string{"Suspended/JobSuspended"}})
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 2`,
	},
	{
		name: "backoff limit",
		script: func(p kubelet.Pod) kubelet.Life {
			if p.Index == 0 {
				return kubelet.Fail(1)
			}
			return kubelet.Run()
		},
		play: func(w *world.World) {
			spec := indexed(3)
			spec.BackoffLimit = new(int32(0))
			w.Create(spec)
			w.Until(observe.Want{Failed: 3, Conditions: failedFor("BackoffLimitExceeded")})
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 3
			job_pods_finished_total{completion_mode="Indexed",result="failed"} 3
			jobs_finished_total{completion_mode="Indexed",reason="BackoffLimitExceeded",result="failed"} 1`,
	},
	{
		name:   "deadline",
		script: kubelet.Always(kubelet.Run()),
		play: func(w *world.World) {
			w.Create(batchv1.JobSpec{ActiveDeadlineSeconds: new(int64(2))})
			w.Until(observe.Want{Failed: 1, Conditions: failedFor("DeadlineExceeded")})
		},
		want: `
			job_pods_creation_total{reason="new",status="succeeded"} 1
			job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 1
			jobs_finished_total{completion_mode="NonIndexed",reason="DeadlineExceeded",result="failed"} 1`,
	},
	{
		// Pods that are deleted with a failed Job count as failed pods, but their indexes do
		// not count as failed.
		name: "too many indexes fail",
		script: func(p kubelet.Pod) kubelet.Life {
			if p.Index < 2 {
				return kubelet.Fail(1)
			}
			return kubelet.Run()
		},
		play: func(w *world.World) {
			spec := indexed(3)
			spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = new(int32(0)), new(int32(1))
			w.Create(spec)
			w.Until(observe.Want{Failed: 3, FailedIndexes: "0,1", Conditions: failedFor("MaxFailedIndexesExceeded")})
		},
		want: `
			job_finished_indexes_total{backoffLimit="perIndex",status="failed"} 2
			job_pods_creation_total{reason="new",status="succeeded"} 3
			job_pods_finished_total{completion_mode="Indexed",result="failed"} 3
			jobs_finished_total{completion_mode="Indexed",reason="MaxFailedIndexesExceeded",result="failed"} 1`,
	},
	{
		// A pod that is deleted with a succeeding Job is not counted.
		name:   "success policy",
		script: kubelet.Always(kubelet.Run()),
		play: func(w *world.World) {
			spec := indexed(2)
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("1")}}}
			w.Create(spec)
			s := w.Until(observe.Want{Active: 2, Ready: 2})
			w.Become(kubelet.Succeed(), s.OfIndex(1)...)
			w.Until(observe.Want{Succeeded: 1, Completed: "1", Conditions: []string{"SuccessCriteriaMet/SuccessPolicy", "Complete/SuccessPolicy"}})
		},
		want: `
			job_finished_indexes_total{backoffLimit="global",status="succeeded"} 1
			job_pods_creation_total{reason="new",status="succeeded"} 2
			job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 1
			jobs_finished_total{completion_mode="Indexed",reason="SuccessPolicy",result="succeeded"} 1`,
	},
}

// replaced deletes the pods of a Job, which then fail.
func replaced(w *world.World, policy batchv1.PodReplacementPolicy) {
	w.T.Helper()
	w.Create(batchv1.JobSpec{Parallelism: new(int32(2)), Completions: new(int32(2)), PodReplacementPolicy: &policy})
	s := w.Until(observe.Want{Active: 2, Ready: 2})
	w.DeletePods(s.Active()...)
	if policy == batchv1.Failed {
		w.Until(observe.Want{Terminating: 2})
	} else {
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 2, Terminating: 2})
	}
	w.Become(kubelet.Run(), s.Active()...)
	w.Until(observe.Want{Active: 2, Ready: 2, Failed: 2})
}

var completed = []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"}

func failedFor(reason string) []string {
	return []string{"FailureTarget/" + reason, "Failed/" + reason}
}

// indexed is the spec of an Indexed Job, all of whose indexes run at once.
func indexed(indexes int32) batchv1.JobSpec {
	return batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: &indexes, Parallelism: &indexes}
}

func onExit(action batchv1.PodFailurePolicyAction, code int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
	}}
}
