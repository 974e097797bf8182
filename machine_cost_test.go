package jobfate

import (
	"runtime"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Most Jobs have one pod, and most syncs change nothing. Such a sync after an event must not cost a
// cluster of many Jobs more than this.
func TestMachine_eventOfOnePod(t *testing.T) {
	const times, allocations, bytes = 1000, 12, 1024
	job := train(1)
	job.Status = batchv1.JobStatus{StartTime: &metav1.Time{Time: noon}, Active: 1, Ready: new(int32), Terminating: new(int32),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	states := [2]*corev1.Pod{podOf(job, "p", "7"), podOf(job, "p", "8")}
	m, view := newMachine(), fresh(job)
	view.Fed = true
	at := 0
	event := func() {
		at++
		m.Feed("p", states[at%2])
		if err := m.Begin(view); err != nil {
			t.Fatal(err)
		}
		if requests := m.Next(); len(requests) > 0 {
			t.Fatalf("got the request %s, want none", text(requests[0]))
		}
	}
	event()
	n := testing.AllocsPerRun(times, event)
	t.Logf("%v allocations", n)
	if n > allocations {
		t.Errorf("got %v allocations, want at most %d", n, allocations)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		event()
	}
	runtime.ReadMemStats(&after)
	size := (after.TotalAlloc - before.TotalAlloc) / times
	t.Logf("%d bytes", size)
	if size > bytes {
		t.Errorf("got %d bytes, want at most %d", size, bytes)
	}
}
