package explanations

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// A pod that can never be counted has a note.
func TestNotes_podsThatCannotBeCounted(t *testing.T) {
	const tracking, other = batchv1.JobTrackingFinalizer, "example.com/tracking"
	for _, test := range []struct {
		name      string
		indexed   bool
		completed string // of an Indexed Job
		succeeded int32
		pods      []*corev1.Pod
		want      []string
		listed    types.UID // in status.uncountedTerminatedPods
	}{
		{"counted by index", true, "0", 1, []*corev1.Pod{finished("a", "0")}, nil, ""},
		{"counted by number", false, "", 1, []*corev1.Pod{finished("a", "")}, nil, ""},
		{"listed, and not yet moved to the counter", false, "", 0, []*corev1.Pod{finished("a", "")}, nil, "a"},
		{"still to be counted", true, "", 0, []*corev1.Pod{finished("a", "0", tracking)}, nil, ""},
		{"no finalizer, Indexed", true, "0", 1, []*corev1.Pod{finished("a", "0"), finished("b", "1")},
			[]string{"1 pod succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"another finalizer", true, "", 0, []*corev1.Pod{finished("a", "0", other), finished("b", "1", other)},
			[]string{"2 pods succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"no finalizer, not Indexed", false, "", 1, []*corev1.Pod{finished("a", ""), finished("b", "")},
			[]string{"1 pod succeeded without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"failed, and counted", false, "", 0, []*corev1.Pod{in(corev1.PodFailed, finished("a", ""))}, nil, ""},
		{"failed", false, "", 0, []*corev1.Pod{in(corev1.PodFailed, finished("a", "")), in(corev1.PodFailed, finished("b", ""))},
			[]string{"1 pod failed without the finalizer batch.kubernetes.io/job-tracking and cannot be counted, such as b"}, ""},
		{"running", true, "", 0, []*corev1.Pod{in(corev1.PodRunning, finished("a", "0")), in(corev1.PodRunning, finished("b", "1", tracking))},
			[]string{"1 active pod without the finalizer batch.kubernetes.io/job-tracking cannot be counted, such as a: add the finalizer, or delete the pod, so that it is replaced"}, ""},
		{"no index", true, "", 0, []*corev1.Pod{finished("a", "", tracking), finished("b", "7", tracking)},
			[]string{"2 pods finished without an index below completions and cannot be counted, such as a"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			three := int32(3)
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "job-uid"}}
			job.Spec.Completions, job.Status.CompletedIndexes, job.Status.Succeeded = &three, test.completed, test.succeeded
			job.Spec.Parallelism, job.Status.Failed = &three, 1
			if mode := batchv1.IndexedCompletion; test.indexed {
				job.Spec.CompletionMode = &mode
			}
			if test.listed != "" {
				job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{test.listed}}
			}
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			d, err := decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if stale, err := decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: now, InFlight: decide.InFlight{Status: true}}); err != nil {
				t.Fatal(err)
			} else if slices.ContainsFunc(explain.Of(stale).Notes(), func(n explain.Reason) bool {
				return n.Code == explain.NoteNotCounted && strings.Contains(n.Text, "without the finalizer")
			}) {
				t.Error("a Job older than the last status write has a note about uncounted pods")
			}
			for _, note := range explain.Of(d).Notes() {
				if note.Code == explain.NoteNotCounted {
					got = append(got, note.Text)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// in returns the pod in another phase.
func in(phase corev1.PodPhase, pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = phase
	return pod
}

// finished returns a pod of the Job that has succeeded.
func finished(name, index string, finalizers ...string) *corev1.Pod {
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Finalizers: finalizers,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: &yes}},
	}}
	if index != "" {
		pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
	}
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}
