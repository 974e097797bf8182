package jobfate_test

import (
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// allocated returns the number of allocations of f, and their bytes. No other
// goroutine runs meanwhile.
func allocated(f func()) (count, bytes uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// A decision without a Scratch allocates at most 32 times beside what it
// returns, and at most 64 bytes a pod.
func TestDecide_allocations(t *testing.T) {
	const n = 1000
	for at, tc := range atRest {
		s := restingJob(t, at, n)
		count, bytes := allocated(func() { mustDecide(t, s) })
		if count > 32 {
			t.Errorf("%s: got %d allocations, want at most 32", tc.name, count)
		}
		if perPod := float64(bytes) / n; perPod > 64 {
			t.Errorf("%s: got %.1f bytes a pod, want at most 64", tc.name, perPod)
		}
	}
}

// Nothing grows with completions.
func TestDecide_completionsDoNotMatter(t *testing.T) {
	for _, state := range []func(int, *corev1.Pod){running, failedJustNow} {
		s := largeJob(1000, true, state)
		usage := func(completions int32) [2]uint64 {
			job := s.Job.DeepCopy()
			job.Spec.Completions = &completions
			with := s
			with.Job = job
			count, bytes := allocated(func() { mustDecide(t, with) })
			return [2]uint64{count, bytes}
		}
		few, many := usage(100_000), usage(1<<31-1)
		if few != many {
			t.Errorf("allocations and bytes: got %v with 2^31-1 completions, want %v as with 10^5", many, few)
		}
		if many[1] >= 1e6 {
			t.Errorf("got %d bytes, want less than 1 MB", many[1])
		}
	}
}
