package decisions

import (
	"fmt"
	"math/rand"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
)

// largeJob returns a snapshot of an Indexed Job with n pods, which are shuffled in memory.
func largeJob(n int, perIndex bool, state func(i int, pod *corev1.Pod)) jobfate.Snapshot {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	count, limit, mode := int32(n), int32(1<<30), batchv1.IndexedCompletion
	labels := map[string]string{batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "job"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "job-uid", ResourceVersion: "1"},
		Spec: batchv1.JobSpec{
			Completions: &count, Parallelism: &count, CompletionMode: &mode, BackoffLimit: &limit,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "job-uid"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}},
		},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: now.Add(-time.Hour)}, Active: count, Ready: new(int32), Terminating: new(int32)},
	}
	if perIndex {
		job.Spec.BackoffLimitPerIndex = &limit
		job.Status.FailedIndexes = new(string)
	}
	pods := make([]*corev1.Pod, n)
	for _, i := range rand.New(rand.NewSource(1)).Perm(n) {
		index := strconv.Itoa(i)
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "job-" + index, UID: types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", int64(i)*2654435761, i)),
				Labels:          map[string]string{batchv1.ControllerUidLabel: "job-uid", batchv1.JobNameLabel: "job", batchv1.JobCompletionIndexAnnotation: index},
				Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: index, batchv1.JobIndexFailureCountAnnotation: "0"},
				Finalizers:      []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
		}
		state(i, pods[i])
	}
	rand.New(rand.NewSource(2)).Shuffle(n, func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return jobfate.Snapshot{Job: job, Pods: pods, Now: now}
}

func running(int, *corev1.Pod) {}

func failedJustNow(i int, pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, FinishedAt: metav1.NewTime(time.Date(2026, 1, 1, 11, 59, 58, 0, time.UTC)),
	}}}}
}
