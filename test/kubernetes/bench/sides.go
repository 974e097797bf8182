package main

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// sink keeps the compiler from removing unused results.
var sink int

// floor does the minimum that any decision must do: for each pod it reads once the deletion time,
// the finalizers, the phase and the annotation with the index.
func floor(pods []*corev1.Pod) (n int) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			n++
		}
		for _, f := range pod.Finalizers {
			if f == batchv1.JobTrackingFinalizer {
				n++
			}
		}
		if i, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
			n += i & 1
		}
	}
	return n
}

func (w *world) floor() side { return timed(func() { sink += floor(w.pods) }) }

// jobfate decides and then settles the status, because the real controller does both in one sync.
func (w *world) jobfate() side {
	s := w.snapshot()
	return side{run: func(times int) (time.Duration, error) {
		start := clock()
		for range times {
			d, err := decide.Job(s)
			if err != nil {
				return 0, err
			}
			if d.Status != nil || len(d.Strip) > 0 {
				sink += len(d.Settle(uidsOf(d.Strip)...).Metrics)
			}
			sink += len(d.Strip)
		}
		return (clock() - start) / time.Duration(times), nil
	}}
}

func uidsOf(pods []*corev1.Pod) []types.UID {
	uids := make([]types.UID, len(pods))
	for i, pod := range pods {
		uids[i] = pod.UID
	}
	return uids
}

// realSync runs the real controller.
func (w *world) realSync() side {
	watch := real.NewStopwatch(w.input(), clock)
	return side{leavesGarbage: true, run: func(times int) (total time.Duration, _ error) {
		for range times {
			took, err := watch.Sync()
			if err != nil {
				return 0, err
			}
			total += took
		}
		return total / time.Duration(times), nil
	}}
}
