package faults

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
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
	if job := w.State().Job; job != nil {
		want := charge(job, ends)
		got := job.Status
		if n := int(got.Failed); n < want.failed || n > want.failed+want.doubtful {
			w.T.Errorf("the status has %d pods failed, want %d, and %d that may count", n, want.failed, want.doubtful)
		}
		if int(got.Succeeded) != want.succeeded {
			w.T.Errorf("the status has %d succeeded, want %d", got.Succeeded, want.succeeded)
		}
		if got.CompletedIndexes != want.indexes.String() {
			w.T.Errorf("the status has completed indexes %s, want %s", got.CompletedIndexes, want.indexes)
		}
	}
}

// charged is what the status of a Job must count.
type charged struct {
	succeeded, failed int
	doubtful          int          // pods that may count as failed
	indexes           indexset.Set // that succeeded
}

func charge(job *batchv1.Job, ends map[types.UID]kubelet.Ended) charged {
	var c charged
	var indexes []int32
	for _, end := range ends {
		switch {
		case end.Doubtful:
			c.doubtful++
		case !metav1.IsControlledBy(end.Pod, job) || !end.Tracked || ignored(job, end):
		case end.Phase != corev1.PodSucceeded: // a pod that is deleted fails, even if it has not ended
			c.failed++
		case script.Index(end.Pod) >= 0:
			indexes = append(indexes, int32(script.Index(end.Pod)))
		default:
			c.succeeded++
		}
	}
	c.indexes = indexset.Of(indexes...)
	c.succeeded += c.indexes.Len()
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
