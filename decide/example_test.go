package decide_test

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A Job with three indexes, each of which may be retried twice. Index 0 has succeeded, index
// 1 failed five seconds ago, index 2 is running.
func ExampleJob() {
	now := time.Date(2026, 5, 1, 12, 0, 5, 0, time.UTC)
	three, twice, indexed := int32(3), int32(2), batchv1.IndexedCompletion
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "suites", UID: "job-uid"},
		Spec: batchv1.JobSpec{
			Completions:          &three,
			Parallelism:          &three,
			CompletionMode:       &indexed,
			BackoffLimitPerIndex: &twice,
		},
	}
	pod := func(index string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       "default",
				Name:            "suites-" + index + "-x7k2p",
				UID:             types.UID("pod-" + index),
				Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: index},
				Finalizers:      []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Status: corev1.PodStatus{Phase: phase},
		}
	}
	failed := pod("1", corev1.PodFailed)
	failed.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, FinishedAt: metav1.NewTime(now.Add(-5 * time.Second)),
		}},
	}}

	d, err := decide.Job(decide.Snapshot{
		Job:  job,
		Pods: []*corev1.Pod{pod("0", corev1.PodSucceeded), failed, pod("2", corev1.PodRunning)},
		Now:  now,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(explain.Of(d).Job().Text)
	for index := range explain.Of(d).Indexes() {
		fmt.Println(index)
	}
	fmt.Println("completed:", d.Status.CompletedIndexes)
	fmt.Println("create", len(d.Create), "pods, requeue in", d.Requeue)
	// Output:
	// the next indexes without a pod are backing off, the first until 12:00:10Z
	// index 1: backing off until 12:00:10Z after 1 failure
	// index 2: active, pod suites-2-x7k2p
	// completed: 0
	// create 0 pods, requeue in 5s
}

// noon is the time of the examples.
var noon = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

// trainJob returns a Job of one pod.
func trainJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid", ResourceVersion: "7"}}
}

// A user interface keeps the pods of a Job, and passes on what has changed. It decides at the cost of the change.
func ExamplePods() {
	job := trainJob()
	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodRunning))
	options := decide.Options(decide.ManagedBy("")) // once, so that an unchanged Job is not evaluated again
	var kept decide.Pods
	show := func() {
		d, err := kept.Decide(decide.Snapshot{Job: job, Now: noon}, options)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(explain.Of(d).Job().Text)
	}
	kept.Replace([]*corev1.Pod{pod})
	show()

	ended := pod.DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	kept.Feed(pod.Name, ended)
	show()
	// Output:
	// 1 pod active, parallelism 1, 0 of 1 succeeded
	// the Job succeeds: CompletionsReached: Reached expected number of succeeded pods
}

// A controller for a custom kind sets its name, its kind and its keys. It rejects Jobs of
// other controllers.
func ExampleManagedBy() {
	options := []decide.Option{
		decide.ManagedBy("batch.example.com/suites"),
		decide.Keys(tracking.Keys{Finalizer: "batch.example.com/tracking"}),
	}
	job := trainJob()
	_, err := decide.Job(decide.Snapshot{Job: job, Now: noon}, options...)
	fmt.Println(errors.Is(err, decide.ErrNotManaged))

	name := "batch.example.com/suites"
	job.Spec.ManagedBy = &name
	d, err := decide.Job(decide.Snapshot{Job: job, Now: noon}, options...)
	fmt.Println(d.Create[0].Pod().Finalizers, err)
	// Output:
	// true
	// [batch.example.com/tracking] <nil>
}

// An InputError names the invalid fields. Retrying does not help.
func ExampleInputError() {
	job := trainJob()
	negative := int32(-1)
	job.Spec.BackoffLimit = &negative

	_, err := decide.Job(decide.Snapshot{Job: job, Now: noon})
	var input *decide.InputError
	if errors.As(err, &input) {
		for _, e := range input.Fields {
			fmt.Println(e.Field, e.BadValue)
		}
	}
	// Output:
	// spec.backoffLimit -1
}

// A rule with a name fails the Job, and the reason of the condition contains the name (KEP-4443). The Go types lack the
// name, so the policy is read from the unstructured Job.
func ExampleGranularReasons() {
	job := trainJob()
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	stored := map[string]any{"spec": map[string]any{"podFailurePolicy": map[string]any{"rules": []any{map[string]any{
		"name": "OutOfMemory", "action": "FailJob",
		"onExitCodes": map[string]any{"operator": "In", "values": []any{int64(137)}},
	}}}}}
	var named struct {
		Spec struct {
			PodFailurePolicy *failurepolicy.Spec `json:"podFailurePolicy"`
		} `json:"spec"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &named)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodFailed))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name:  "main",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, FinishedAt: metav1.NewTime(noon)}},
	}}

	d, err := decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon},
		decide.FailurePolicy(named.Spec.PodFailurePolicy), decide.GranularReasons())
	if err != nil {
		fmt.Println(err)
		return
	}
	condition := d.Status.Conditions[0]
	fmt.Println(condition.Type, condition.Reason)
	fmt.Println(explain.Of(d).LastFailure().Match.Name)
	// Output:
	// FailureTarget PodFailurePolicy_OutOfMemory
	// OutOfMemory
}

// The node of a deleted pod is lost. Five minutes after its grace period the Job still waits for the pod;
// after ten it is replaced.
func ExampleFailLostPods() {
	job := trainJob()
	onlyFailed := batchv1.Failed
	job.Spec.PodReplacementPolicy = &onlyFailed
	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodRunning))
	pod.Spec.NodeName, pod.DeletionTimestamp = "lost", &metav1.Time{Time: noon}
	for _, after := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		d, err := decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon.Add(after)},
			decide.FailLostPods(10*time.Minute))
		fmt.Println("create", len(d.Create), "pods, requeue in", d.Requeue, err)
	}
	// Output:
	// create 0 pods, requeue in 5m0s <nil>
	// create 1 pods, requeue in 0s <nil>
}

// An evicted pod has the phase Failed, but its container has exited with 0.
func ExampleSucceedOnExitZero() {
	job := trainJob()
	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodFailed))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon)}},
	}}
	d, err := decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon}, decide.SucceedOnExitZero())
	fmt.Println(d.Status.Conditions[0].Type, err)
	// Output:
	// SuccessCriteriaMet <nil>
}

// The facts say why no pod is created: the pod that failed at 12:00:30 was the second failure, so
// its replacement waits for 20 s.
func ExampleDecision_Facts() {
	job := trainJob()
	job.Status.Failed = 1
	pod := PodOf(job, "x7k2p", "6", Phase(corev1.PodFailed))
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(noon.Add(30 * time.Second))}}}}

	s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon.Add(35 * time.Second)}
	s.Backoff.Job, s.Backoff.Failures = job.UID, 1
	d, _ := decide.Job(s)
	f := d.Facts()
	fmt.Println("wanted", f.Plan.Want, "active", f.Progress.Active, "failed", f.Progress.Failed)
	fmt.Println("failures in a row", f.Plan.Record.Failures, "wait", f.Plan.Wait)
	fmt.Println("the pod counts as failed:", f.Pod(pod.UID).Failed, f.Pod("unknown") == nil)
	// Output:
	// wanted 1 active 0 failed 2
	// failures in a row 2 wait 15s
	// the pod counts as failed: true true
}

// A creation fails: the revised decision counts one active pod less.
func ExampleDecision_Revise() {
	d, _ := decide.Job(decide.Snapshot{Job: trainJob(), Now: noon})
	fmt.Println(len(d.Create), "to create, then", d.Status.Active, "active")
	fmt.Println("or", d.Revise(decide.Undone{Creations: 1}).Status.Active, "active")
	// Output:
	// 1 to create, then 1 active
	// or 0 active
}

// The deadline of a Job has passed, so its pod is deleted. First the status says that the Job fails.
func ExampleDecision_VerdictFirst() {
	job := trainJob()
	seconds, start := int64(60), metav1.NewTime(noon.Add(-time.Hour))
	job.Spec.ActiveDeadlineSeconds, job.Status.StartTime = &seconds, &start
	s := decide.Snapshot{Job: job, Pods: []*corev1.Pod{PodOf(job, "x7k2p", "6", Phase(corev1.PodRunning))}, Now: noon}
	for range 2 {
		d, _ := decide.Job(s)
		d, _ = d.VerdictFirst()
		fmt.Println("delete:", len(d.Delete), "active:", d.Status.Active, d.Status.Conditions[0].Reason)
		job.Status = *d.Status // stored
	}
	// Output:
	// delete: 0 active: 1 DeadlineExceeded
	// delete: 1 active: 0 DeadlineExceeded
}

// The pods that a queue reserves for a Job, and how many pods will run in total.
func ExampleDemandOf() {
	five, ten, three := int32(5), int32(10), int32(3)
	job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: &five, Completions: &ten, BackoffLimit: &three}}
	report := func() {
		d := decide.DemandOf(job)
		fmt.Printf("reserve %d; %d to %d pods in total\n", d.AtOnce.Most, d.InTotal.Least, d.InTotal.Most)
	}
	report()

	job.Status = batchv1.JobStatus{Active: 2, Succeeded: 8, Failed: 1}
	report()

	// A work queue: after the first success no pod is added.
	job.Spec.Completions = nil
	job.Status = batchv1.JobStatus{Active: 3, Succeeded: 2}
	report()
	// Output:
	// reserve 5; 4 to 13 pods in total
	// reserve 2; 2 to 4 pods in total
	// reserve 3; 3 to 3 pods in total
}
