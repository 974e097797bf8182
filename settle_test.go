package jobfate_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
)

// The succeeded counter of an Indexed Job is the number of its completed indexes,
// with a limit per index too. A UID in the list of the succeeded, where no
// controller puts one, adds nothing to it.
func TestSettle_succeededOfIndexedJobs(t *testing.T) {
	for _, limit := range []string{"", "\nbackoffLimitPerIndex: 1"} {
		job := specJob(t, "completions: 2\nparallelism: 2\ncompletionMode: Indexed"+limit)
		pod := podIn(job, 1, corev1.PodSucceeded)
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{pod.UID}}
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time})
		st := d.Settle(d.Strip...).Status
		if st == nil || st.Succeeded != 1 || st.CompletedIndexes != "0" || len(st.UncountedTerminatedPods.Succeeded) != 0 {
			t.Errorf("settled%s: %s, want 1 succeeded, index 0 completed and an empty list", limit, toJSON(st))
		}
	}
}

// An Indexed Job that was scaled down may keep a counter above its completions. No
// index has completed twice, so there were not too many succeeded pods.
func TestSettle_aStuckCounterIsNotTooManySucceededPods(t *testing.T) {
	for mode, want := range map[batchv1.CompletionMode][]string{
		batchv1.IndexedCompletion:    {"Completed"},
		batchv1.NonIndexedCompletion: {"TooManySucceededPods", "Completed"},
	} {
		job := specJob(t, "completions: 1\nparallelism: 3")
		job.Spec.CompletionMode = &mode
		job.Status.Succeeded = 3
		if mode == batchv1.IndexedCompletion {
			job.Status.CompletedIndexes = "0"
		}
		s := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time}).Settle()
		var got []string
		for _, e := range s.Events {
			got = append(got, e.Reason)
		}
		if !s.Finished || s.Status.Succeeded != 3 || !slices.Equal(got, want) {
			t.Errorf("%s: finished %t, events %v, status %s; want the end with %v and 3 succeeded", mode, s.Finished, got, toJSON(s.Status), want)
		}
	}
}
