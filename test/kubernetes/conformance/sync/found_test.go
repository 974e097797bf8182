package sync

import (
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// Shrunk cases from random trials in which the two sides once differed without a divergence.
func TestFound(t *testing.T) {
	ended := onJob(func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	})
	unselected := func(p *corev1.Pod) { p.Labels = nil }
	tests := []struct {
		name  string
		trial *trial
	}{
		{"a finished Job releases no pod", newTrial(ended,
			pod("a", corev1.PodRunning, unselected, func(p *corev1.Pod) { p.Finalizers = nil }))},
		{"a finished Job frees a pod that it no longer selects", newTrial(ended, pod("a", corev1.PodRunning, unselected))},
		{"a Job that is being deleted frees such a pod too", newTrial(ended, pod("a", corev1.PodRunning, unselected),
			onJob(func(j *batchv1.Job) { j.DeletionTimestamp = new(at(0)) }))},
		{"the default replacement policy names the reason of a creation", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionCount),
			onJob(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy, j.Status.Failed = nil, 1 }))},
		{"an Indexed Job never has too many succeeded pods", newTrial(size(0, 1), onJob(byIndex),
			onJob(func(j *batchv1.Job) { j.Status.Succeeded, j.Status.CompletedIndexes = 3, "0" }))},
		{"the index of a listed pod counts towards the cap", newTrial(size(0, 3), onJob(byIndex), uncounted([]types.UID{"a"}, nil),
			pod("a", corev1.PodSucceeded, index(0)), pod("b", corev1.PodFailed, index(1)),
			func(c *trial) { c.limits.MaxUncounted, c.limits.MaxCreateDelete = 2, 2 })},
		{"indexes in both lists of a damaged status do not count as newly finished", newTrial(size(0, 5), limitPerIndex(0),
			onJob(func(j *batchv1.Job) { j.Status.CompletedIndexes, j.Status.FailedIndexes = "3", new("3-1") }),
			pod("a", corev1.PodFailed, index(0)))},
		{"a predecessor is chosen, and the other failed pods are listed in order", newTrial(size(2, 2), limitPerIndex(5),
			pod("a", corev1.PodFailed, index(0), finished(1, -10)),
			pod("b", corev1.PodFailed, index(0), failures(1), finished(1, -20)),
			pod("c", corev1.PodFailed, index(0), failures(1), finished(1, -20)))},
		{"the same if the list has room for one pod", newTrial(size(2, 2), limitPerIndex(5),
			pod("a", corev1.PodFailed, index(0), finished(1, -10)),
			pod("b", corev1.PodFailed, index(0), failures(1), finished(1, -20)),
			pod("c", corev1.PodFailed, index(0), failures(1), finished(1, -20)),
			func(c *trial) { c.limits.MaxUncounted = 1 })},
		{"if counts do not fit into an int32, the predecessor is the pod with the larger count", newTrial(size(0, 1), limitPerIndex(5),
			pod("a", corev1.PodFailed, index(0), failures(1), ignored(math.MaxInt32)),
			pod("b", corev1.PodFailed, index(0), failures(1), ignored(math.MaxInt32-1)))},
		{"a status that corrects a counter before the end is not stored", newTrial(size(0, 0), onJob(byIndex),
			func(c *trial) { c.fail.Status = map[int]error{0: real.ErrInternal} },
			onJob(func(j *batchv1.Job) {
				j.Status.Succeeded = 1
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
			}))},
		{"the lists of a Job that fails are full before a running pod listed as succeeded", newTrial(size(0, 4), limitPerIndex(0),
			onJob(func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(0)) }), uncounted([]types.UID{"c"}, []types.UID{"b"}),
			pod("a", corev1.PodFailed, index(0)), pod("b", corev1.PodFailed, index(0)), pod("c", corev1.PodRunning, index(0)),
			func(c *trial) { c.limits.MaxUncounted, c.limits.MaxCreateDelete = 3, 1 })},
		{"the list that is full holds that pod", newTrial(size(0, 4), conditions(batchv1.JobFailureTarget, corev1.ConditionTrue),
			uncounted([]types.UID{"b"}, nil), pod("a", corev1.PodFailed), pod("b", corev1.PodRunning),
			func(c *trial) { c.limits.MaxUncounted, c.limits.MaxCreateDelete = 1, 1 })},
		{"a deletion in flight of a Job that succeeds, without a count of terminating pods", newTrial(size(0, 0),
			conditions(batchv1.JobSuccessCriteriaMet, corev1.ConditionFalse, corev1.ConditionTrue),
			func(c *trial) { c.snapshot.InFlight.Deletions, c.noReplace = 1, gated })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r reach
			compare(t, tt.trial, &r)
		})
	}
}

// Both sides remove the finalizer of a pod that is deleted because the Job ends twice: before the
// deletion, and after the status is stored.
func TestFinalizerIsRemovedTwice(t *testing.T) {
	c := newTrial(size(2, 1), pod("a", corev1.PodSucceeded), pod("b", corev1.PodRunning))
	for side, o := range map[string]outcome{"the real controller": newRun(c).outcome, "jobfate": mustDecide(t, c).out} {
		removals := 0
		for _, call := range slices.Concat(o.Deletions, o.Strips) {
			if call.Pod == "b" && call.Kind != real.Delete {
				removals++
			}
		}
		if removals != 2 {
			t.Errorf("%s removes the finalizer of the running pod %d times, want 2", side, removals)
		}
	}
}
