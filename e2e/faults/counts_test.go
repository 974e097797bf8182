package faults

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
	"github.com/jobfate/jobfate/stories/script"
)

// checkCounts compares the status of a Job that has ended with the kubelet's record of how each
// pod ended. A pod counts once if it had its finalizer until it ended or was deleted. No other pod
// counts.
func checkCounts(w *world.World) {
	w.T.Helper()
	pods := list(w)
	ends := w.Kubelet.Ended()
	for _, pod := range pods {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			w.T.Errorf("pod %s still has its finalizer", pod.Name)
		}
		if end, known := ends[pod.UID]; !known || end.Phase != pod.Status.Phase {
			w.T.Errorf("pod %s is %s, but the kubelet has ended it as %q", pod.Name, pod.Status.Phase, end.Phase)
		}
	}
	if job := w.View.State().Job; job != nil {
		want := charge(job, ends)
		got := job.Status
		if n := int(got.Failed); n < want.failed || n > want.failed+want.doubtful {
			w.T.Errorf("the status has %d pods failed, want %d, and %d that may count", n, want.failed, want.doubtful)
		}
		if int(got.Succeeded) != want.succeeded {
			w.T.Errorf("the status has %d succeeded, want %d", got.Succeeded, want.succeeded)
		}
		if completed := expand(w, got.CompletedIndexes); !slices.Equal(completed, want.indexes) {
			w.T.Errorf("the status has completed indexes %v, want %v", completed, want.indexes)
		}
	}
}

// charged is what the status of a Job must count.
type charged struct {
	succeeded, failed int
	doubtful          int   // pods that may count as failed
	indexes           []int // that succeeded, in order
}

func charge(job *batchv1.Job, ends map[types.UID]kubelet.Ended) charged {
	var c charged
	indexes := map[int]bool{}
	for _, end := range ends {
		switch {
		case end.Doubtful:
			c.doubtful++
		case !metav1.IsControlledBy(end.Pod, job) || !end.Tracked || ignored(job, end):
		case end.Phase != corev1.PodSucceeded: // a pod that is deleted fails, even if it has not ended
			c.failed++
		case script.Index(end.Pod) >= 0:
			indexes[script.Index(end.Pod)] = true
		default:
			c.succeeded++
		}
	}
	if len(indexes) > 0 {
		c.succeeded, c.indexes = len(indexes), slices.Sorted(maps.Keys(indexes))
	}
	return c
}

// ignored reports whether a rule ignores the failure of a pod. The scenarios have one Ignore rule, for
// disruptions.
func ignored(job *batchv1.Job, end kubelet.Ended) bool {
	return job.Spec.PodFailurePolicy != nil && end.Disrupted &&
		slices.ContainsFunc(job.Spec.PodFailurePolicy.Rules, func(r batchv1.PodFailurePolicyRule) bool {
			return r.Action == batchv1.PodFailurePolicyActionIgnore
		})
}

// expand lists the indexes of a text such as "1,3-5".
func expand(w *world.World, text string) (indexes []int) {
	w.T.Helper()
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		w.Must(err)
		to, err := strconv.Atoi(last)
		w.Must(err)
		for index := from; index <= to; index++ {
			indexes = append(indexes, index)
		}
	}
	return indexes
}
