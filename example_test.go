package jobfate_test

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
)

// A Job with three indexes, each of which may be retried twice. Index 0 has succeeded, index
// 1 failed five seconds ago, index 2 is running.
func ExampleDecide() {
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

	d, err := jobfate.Decide(jobfate.Snapshot{
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

// The last pod of a Job has succeeded. The Machine records the pod, removes its finalizer, and
// then completes the Job.
func ExampleMachine() {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: "job-uid", ResourceVersion: "7"}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "train-x7k2p", UID: "pod-uid", ResourceVersion: "6",
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	// send stands for a client. It stores the objects of the requests.
	send := func(r jobfate.Request) (runtime.Object, error) {
		switch r.Verb {
		case jobfate.PatchPod:
			return pod, nil
		case jobfate.PatchStatus:
			job = job.DeepCopy()
			job.ResourceVersion, job.Status = job.ResourceVersion+"0", *r.Status
			return job, nil
		}
		return nil, errors.ErrUnsupported
	}

	m := jobfate.NewMachine()
	err := m.Begin(jobfate.View{
		Job: job, Pods: []*corev1.Pod{pod}, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		JobsVersion: "7", PodsVersion: "7", Barrier: "5",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			object, err := send(r)
			if err := m.Answer(r, object, err); err != nil {
				fmt.Println(err)
			}
			fmt.Println(r.Verb, r.Name+": uncounted", job.Status.UncountedTerminatedPods.Succeeded, "succeeded", job.Status.Succeeded)
		}
	}
	result := m.Result()
	fmt.Println("ended", result.Ended, "events", result.Events)
	fmt.Println(m)
	// Output:
	// patch the status train: uncounted [pod-uid] succeeded 0
	// patch pod train-x7k2p: uncounted [pod-uid] succeeded 0
	// patch the status train: uncounted [] succeeded 1
	// ended true events [{Normal Completed Job completed}]
	// waiting to observe version 700 of the Job, 1 removed finalizers
}
