package decisions

import (
	"runtime"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/podtest"
)

// Most Jobs have one pod, and most syncs change nothing. Such a sync after an event must not cost a
// cluster of many Jobs more than this.
func TestMachine_eventOfOnePod(t *testing.T) {
	const times, allocations, bytes = 1000, 12, 1024
	job := podtest.Job()
	job.ResourceVersion, job.Spec.Template.Labels = "10", job.Spec.Selector.MatchLabels
	job.Spec.Parallelism, job.Spec.Completions = new(int32(1)), new(int32(1))
	job.Status = batchv1.JobStatus{StartTime: &metav1.Time{Time: podtest.Noon()}, Active: 1, Ready: new(int32),
		Terminating: new(int32), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	states := [2]*corev1.Pod{podtest.Pod("p"), podtest.Pod("p")}
	m := jobfate.NewMachine()
	view := jobfate.View{Job: job, Fed: true, Now: podtest.Noon(), JobsVersion: "1000", PodsVersion: "1000", Barrier: "1"}
	at := 0
	event := func() {
		at++
		m.Feed("", states[at%2])
		if err := m.Begin(view); err != nil {
			t.Fatal(err)
		}
		if requests := m.Next(); len(requests) > 0 {
			t.Fatalf("got the request to %s %s, want none", requests[0].Verb, requests[0].Patch)
		}
	}
	event()
	n := testing.AllocsPerRun(times, event)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		event()
	}
	runtime.ReadMemStats(&after)
	size := (after.TotalAlloc - before.TotalAlloc) / times
	t.Logf("%v allocations, %d bytes", n, size)
	if n > allocations || size > bytes {
		t.Errorf("got %v allocations and %d bytes, want at most %d and %d", n, size, allocations, bytes)
	}
}
