package jobfate_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/tracking/counting"
	"github.com/jobfate/jobfate/validation"
)

// These examples are the tour of README.md. Their job has two indexes, each of which may be
// retried once; exit code 42 fails an index. pod ran index 0 and has just failed with that code.

// Sets of indexes, as completedIndexes and failedIndexes write them.
func Example_indexset() {
	completed := indexset.MustParse("1,3-5,7").Union(indexset.Of(0, 6))
	fmt.Println(completed, "are done,", completed.Complement(10), "are not")
	// Output: 0,1,3-7 are done, 2,8,9 are not
}

// When a failed pod may be replaced.
func Example_backoff() {
	_, pod, now := tour()
	var policy backoff.Policy // 10s, 20s, 40s and so on, at most 10m
	failedAt := backoff.FinishTime(pod)
	fmt.Println("wait", policy.Remaining(1, failedAt, now)) // one failure, four seconds ago
	// Output: wait 6s
}

// What the pod failure policy of a Job says about a failed pod.
func Example_failurepolicy() {
	job, pod, _ := tour()
	spec := failurepolicy.FromAPI(job.Spec.PodFailurePolicy)
	if match := spec.Match(pod); match.Matched() {
		fmt.Println(match.Action, "by", match.Explain())
	}
	// Output: FailIndex by rule 0 on container main, exit code 42
}

// Counting a pod exactly once (KEP-2307): record it, remove its finalizer, count it.
func Example_tracking() {
	job, pod, _ := tour()
	var keys tracking.Keys                                   // those of Kubernetes
	counted := counting.Count(job, []*corev1.Pod{pod}, keys) // store counted.Status,
	for _, pod := range counted.Strip {                      // then remove the finalizers,
		fmt.Printf("%s: %s\n", pod.Name, keys.StripPatch(pod))
	}
	fmt.Println("failed:", counted.Settle(pod.UID).Failed) // then store this
	// Output:
	// train-0-x7k2p: {"metadata":{"uid":"pod-0","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}
	// failed: 1
}

// What the API server would refuse, before it is sent.
func Example_validation() {
	job, _, _ := tour()
	next := job.DeepCopy()
	next.Status.CompletedIndexes, next.Status.FailedIndexes = "0", new("0,1")
	fmt.Println(validation.StatusUpdate(next, job).ToAggregate())
	// Output: status.failedIndexes: Invalid value: "0,1": failedIndexes and completedIndexes overlap at index: 0
}

// What a Job's status says: its outcome and its indexes.
func Example_jobstatus() {
	job, _, _ := tour()
	fmt.Println(jobstatus.OutcomeOf(job).Phase, "without", jobstatus.Indexes(job).Unfinished)
	// Output: Running without 0,1
}

// The whole decision of the Job controller.
func Example() {
	job, pod, now := tour()
	decision, err := decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: now})
	if err == nil {
		fmt.Println("create", len(decision.Create), "pod:", explain.Of(decision).Index(0).Text)
	}
	// Output: create 1 pod: failed: its pod matched FailIndex rule 0 on container main, exit code 42
}

// tour returns the Job and the pod of these examples, and a time four seconds after the pod
// failed.
func tour() (*batchv1.Job, *corev1.Pod, time.Time) {
	now := time.Date(2026, 5, 1, 12, 0, 4, 0, time.UTC)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid", ResourceVersion: "7"}}
	job.Spec.Completions, job.Spec.Parallelism, job.Spec.BackoffLimitPerIndex = new(int32(2)), new(int32(2)), new(int32(1))
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailIndex,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
	}}}
	job.Status.StartTime = &metav1.Time{Time: now.Add(-time.Minute)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "train-0-x7k2p", UID: "pod-0",
		Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: "0"},
		Finalizers:      []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{tracking.Controller{}.Reference(job)},
	}}
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: metav1.NewTime(now.Add(-4 * time.Second))},
	}}}
	return job, pod, now
}
