package jobfate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
)

// RebuildBackoff counts the failures after the last success, of pods that have
// been counted. A pod that runs is none of these.
func TestRebuildBackoff_whatItCounts(t *testing.T) {
	job := specJob(t, "completions: 5\nparallelism: 5")
	noon := job.CreationTimestamp.Time
	pod := func(n int, phase corev1.PodPhase, after time.Duration) *corev1.Pod {
		pod := without(podIn(job, n, phase))
		for i := range pod.Status.ContainerStatuses {
			if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil {
				ended.FinishedAt = metav1.NewTime(noon.Add(after))
			}
		}
		return pod
	}
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		want backoff.Record
	}{
		{"none", nil, backoff.Record{Job: job.UID}},
		{"a failure", []*corev1.Pod{pod(1, corev1.PodFailed, time.Second)}, backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon.Add(time.Second)}},
		{"a success between failures", []*corev1.Pod{
			pod(1, corev1.PodFailed, time.Second), pod(2, corev1.PodSucceeded, 2*time.Second), pod(3, corev1.PodFailed, 3*time.Second),
		}, backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon.Add(3 * time.Second)}},
		{"a success at last", []*corev1.Pod{pod(1, corev1.PodFailed, time.Second), pod(2, corev1.PodSucceeded, 2*time.Second)}, backoff.Record{Job: job.UID}},
		{"a pod that runs", []*corev1.Pod{pod(1, corev1.PodRunning, 0)}, backoff.Record{Job: job.UID}},
		{"a failure that is still to be counted", []*corev1.Pod{podIn(job, 1, corev1.PodFailed)}, backoff.Record{Job: job.UID}},
	} {
		got, err := jobfate.RebuildBackoff(jobfate.Snapshot{Job: job, Pods: test.pods, Now: noon.Add(time.Minute)})
		if err != nil || !got.Equal(test.want) {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
	}
}
