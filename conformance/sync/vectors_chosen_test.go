package sync

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/vectors"
)

// chosen returns cases that random trials find too rarely: the creations and deletions depend on the
// order of pods, times or indexes.
func chosen() (all []*vectors.Case) {
	add := func(set func(*vectors.Case), change ...func(*trial)) {
		c := withFewLabels(newTrial(change...))
		if set != nil {
			set(c)
		}
		all = append(all, c)
	}
	fewChanges := func(c *trial) { c.limits.MaxCreateDelete = 2 }
	// The pods that became ready last are deleted first.
	for _, order := range [][3]int{{-30, -20, -10}, {-10, -20, -30}, {-20, -10, -30}} {
		for keep := range int32(2) {
			add(nil, size(keep+1, 9), pod("a", corev1.PodRunning, readySince(order[0])),
				pod("b", corev1.PodRunning, readySince(order[1])), pod("c", corev1.PodRunning, readySince(order[2])))
		}
	}
	add(nil, size(1, 9), pod("a", corev1.PodRunning, notReadySince(-5)), pod("b", corev1.PodRunning, readySince(-5)))
	add(nil, size(1, 9), pod("b", corev1.PodRunning, notReadySince(-5)), pod("a", corev1.PodRunning, isReady), pod("c", corev1.PodRunning, readySince(-5)))
	// The timer is for the first index that may be retried.
	for _, order := range [][3]int{{-1, -5, -3}, {-5, -3, -1}, {-3, -1, -5}} {
		add(nil, size(3, 3), limitPerIndex(4), pod("a", corev1.PodFailed, index(0), failures(0), finished(1, order[0])),
			pod("b", corev1.PodFailed, index(1), failures(0), finished(1, order[1])), pod("c", corev1.PodFailed, index(2), failures(0), finished(1, order[2])))
	}
	// Because of a cap, some indexes get their pods in a later sync.
	add(nil, onJob(byIndex), size(6, 9), fewChanges)
	add(nil, onJob(byIndex), size(6, 7), fewChanges, pod("a", corev1.PodRunning, index(1)), pod("b", corev1.PodRunning, index(3)))
	add(nil, onJob(byIndex), size(6, 5), fewChanges, pod("a", corev1.PodRunning, index(0)), pod("b", corev1.PodRunning, index(4)))
	add(nil, size(2, 9), fewChanges)
	// A Job that has ended frees all of its pods.
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		add(nil, conditions(end, corev1.ConditionTrue), pod("a", corev1.PodSucceeded), pod("b", corev1.PodRunning))
	}
	// The option Throttle does not delay changes that users wait for: suspension, the end, the
	// first status.
	add(throttled, size(4, 9), onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), pod("a", corev1.PodSucceeded))
	add(throttled, size(4, 9), onJob(func(j *batchv1.Job) { j.Status.StartTime = nil }), pod("a", corev1.PodSucceeded))
	add(throttled, size(4, 1), onJob(func(j *batchv1.Job) { j.Status.Succeeded = 1 }))
	add(throttled, size(9, 9), pod("a", corev1.PodSucceeded))
	// A completed index changes only one of the two lists.
	add(nil, onJob(func(j *batchv1.Job) { j.Status.FailedIndexes = new("1,2") }), size(0, 5), limitPerIndex(0), pod("a", corev1.PodSucceeded, index(0)))
	return all
}

func readySince(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		isReady(p)
		p.Status.Conditions[0].LastTransitionTime = at(seconds)
	}
}

func notReadySince(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		readySince(seconds)(p)
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}
