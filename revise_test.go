package jobfate_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
)

// Whatever a caller says of its creations, no fewer than none and no more than all
// were created.
func TestRevise_impossibleCounts(t *testing.T) {
	job := specJob(t, "completions: 4\nparallelism: 4")
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodRunning)}, Now: job.CreationTimestamp.Time}
	d := mustDecide(t, s)
	if len(d.Create) != 3 {
		t.Fatalf("%d to create, want 3", len(d.Create))
	}
	for _, test := range []struct {
		done   jobfate.Done
		active int32
	}{
		{jobfate.Done{NotCreated: -5}, 4},
		{jobfate.Done{NotCreated: 2}, 2},
		{jobfate.Done{NotCreated: 3}, 1},
		{jobfate.Done{NotCreated: 100}, 1},
	} {
		if r := d.Revise(test.done); r.Status == nil || r.Status.Active != test.active {
			t.Errorf("%+v: status %s, want %d active", test.done, toJSON(r.Status), test.active)
		}
	}
}

// Creations that were not tried have not failed. A number of them below zero is
// none.
func TestRevise_failedCreations(t *testing.T) {
	job := specJob(t, "completions: 4\nparallelism: 4")
	d := mustDecide(t, jobfate.Snapshot{Job: job, Now: job.CreationTimestamp.Time})
	for _, test := range []struct {
		done jobfate.Done
		want string
	}{
		{jobfate.Done{NotCreated: 3, Untried: 2}, `job_pods_creation_total{reason="new",status="failed"} +1`},
		{jobfate.Done{NotCreated: 3, Untried: -2}, `job_pods_creation_total{reason="new",status="failed"} +3`},
	} {
		var got []string
		for _, m := range d.Revise(test.done).Metrics {
			got = append(got, m.String())
		}
		if !slices.Contains(got, test.want) {
			t.Errorf("%+v: %v, want %s in it", test.done, got, test.want)
		}
	}
}
