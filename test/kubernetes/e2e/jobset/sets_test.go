package jobset

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// setName is the name of the JobSet in every case.
const setName = "set"

var containers = []corev1.Container{{Name: "main", Image: "image"}}

// set returns a JobSet of replicated Jobs.
func set(jobs ...jobset.ReplicatedJob) *jobset.JobSet {
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: setName}}
	js.APIVersion, js.Kind = jobset.GroupVersion.String(), "JobSet"
	js.Spec.ReplicatedJobs = jobs
	return js
}

// replicated returns a replicated Job. Each of its Jobs fails when its first pod fails.
func replicated(name string, replicas int32, changes ...func(*jobset.ReplicatedJob)) jobset.ReplicatedJob {
	r := jobset.ReplicatedJob{Name: name, Replicas: replicas}
	r.Template.Spec.BackoffLimit = new(int32(0))
	r.Template.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// leaderAndWorkers returns the JobSet of most cases: a NonIndexed leader and three Indexed workers.
// Indexed is JobSet's default.
func leaderAndWorkers(changes ...func(*jobset.JobSetSpec)) *jobset.JobSet {
	return withSpec(set(replicated("leader", 1, nonIndexed), replicated("worker", 3)), changes...)
}

func nonIndexed(r *jobset.ReplicatedJob) {
	r.Template.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
}

func withSpec(js *jobset.JobSet, changes ...func(*jobset.JobSetSpec)) *jobset.JobSet {
	for _, change := range changes {
		change(&js.Spec)
	}
	return js
}

// The names of the Jobs of leaderAndWorkers.
const leader = "set-leader-0"

func worker(n int) string { return fmt.Sprintf("set-worker-%d", n) }

var (
	workers  = []string{worker(0), worker(1), worker(2)}
	everyone = append([]string{leader}, workers...)
)

// pending keeps the pods of a replicated Job pending until the case changes their script.
func pending(r *jobset.ReplicatedJob) {
	r.Template.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: noSystem}
}

// after makes a replicated Job wait for another one.
func after(name string, status jobset.DependsOnStatus) func(*jobset.ReplicatedJob) {
	return func(r *jobset.ReplicatedJob) { r.DependsOn = []jobset.DependsOn{{Name: name, Status: status}} }
}

func suspended(spec *jobset.JobSetSpec) { spec.Suspend = new(true) }

func inOrder(spec *jobset.JobSetSpec) {
	spec.StartupPolicy = &jobset.StartupPolicy{StartupPolicyOrder: jobset.InOrder}
}

func succeedsWith(operator jobset.Operator, targets ...string) func(*jobset.JobSetSpec) {
	return func(spec *jobset.JobSetSpec) {
		spec.SuccessPolicy = &jobset.SuccessPolicy{Operator: operator, TargetReplicatedJobs: targets}
	}
}

// restartsOnce allows one restart that counts towards the maximum, and adds failure policy rules.
func restartsOnce(rules ...jobset.FailurePolicyRule) func(*jobset.JobSetSpec) {
	return func(spec *jobset.JobSetSpec) {
		spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 1, Rules: rules}
	}
}

func recreates(strategy jobset.JobSetRestartStrategy) func(*jobset.JobSetSpec) {
	return func(spec *jobset.JobSetSpec) {
		spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 1, RestartStrategy: strategy}
	}
}

func rule(action jobset.FailurePolicyAction, reason string, targets ...string) jobset.FailurePolicyRule {
	r := jobset.FailurePolicyRule{Action: action, TargetReplicatedJobs: targets}
	if reason != "" {
		r.OnJobFailureReasons = []string{reason}
	}
	return r
}

// policyExit is the exit code with which podFailurePolicy fails a Job.
const policyExit = 42

// podFailurePolicy adds a rule to every Job: policyExit fails the Job, with the reason
// PodFailurePolicy.
func podFailurePolicy(spec *jobset.JobSetSpec) {
	for i := range spec.ReplicatedJobs {
		spec.ReplicatedJobs[i].Template.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{policyExit}},
		}}}
	}
}

// perIndex gives every Job two indexes. An index fails when its first pod fails, and the Job then
// fails with FailedIndexes. With a maximum of failed indexes, the Job fails with
// MaxFailedIndexesExceeded as soon as more indexes have failed.
func perIndex(most ...int32) func(*jobset.JobSetSpec) {
	return func(spec *jobset.JobSetSpec) {
		for i := range spec.ReplicatedJobs {
			job := &spec.ReplicatedJobs[i].Template.Spec
			job.CompletionMode = new(batchv1.IndexedCompletion)
			job.Completions, job.Parallelism = new(int32(2)), new(int32(2))
			job.BackoffLimit, job.BackoffLimitPerIndex = nil, new(int32(0))
			if len(most) > 0 {
				job.MaxFailedIndexes = &most[0]
			}
		}
	}
}

var jobSetResource = jobset.GroupVersion.WithResource("jobsets")

// typed is the inverse of untyped, for JobSets.
func typed(object *unstructured.Unstructured) (*jobset.JobSet, error) {
	js := &jobset.JobSet{}
	return js, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, js)
}
