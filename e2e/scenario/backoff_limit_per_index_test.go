package scenario

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

const (
	failures        = batchv1.JobIndexFailureCountAnnotation
	ignoredFailures = "batch.kubernetes.io/job-index-ignored-failure-count"
)

// wantAnnotations checks the annotations of all pods of an index, oldest first.
func wantAnnotations(w *world.World, s observe.State, index int, annotation string, want ...string) {
	w.T.Helper()
	var got []string
	for _, pod := range s.OfIndex(index) {
		got = append(got, pod.Annotations[annotation])
	}
	if !slices.Equal(got, want) {
		w.T.Errorf("the pods of index %d have %q as %s, want %q", index, got, annotation, want)
	}
}

// failTimes is a script in which each index succeeds after some failures.
func failTimes(times int) kubelet.Script {
	return func(p kubelet.Pod) kubelet.Life {
		if p.Attempt < times {
			return kubelet.Fail(1)
		}
		return kubelet.Succeed()
	}
}

// The failed pod is deleted at once. Its finalizer keeps it until it is counted and
// replaced, because the replacement continues from its annotation.
func TestPerIndexDelayedPodDeletion(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(1, 1))
		first := w.Until(observe.Want{Active: 1, Ready: 1}).Active()[0]
		w.View.Always("the failed pod goes only after the replacement has come", func(s observe.State) bool {
			return s.Job == nil || len(s.OfIndex(0)) > 0 || len(s.Job.Status.Conditions) > 0
		})
		w.Become(kubelet.Fail(1), first)
		w.When("the pod has failed", func(s observe.State) bool { return s.All[first.Name].Status.Phase == corev1.PodFailed })
		w.DeletePods(first)
		s := w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1})
		wantAnnotations(w, observe.State{Job: s.Job, All: map[string]*corev1.Pod{"": s.Active()[0]}}, 0, failures, "1")
		w.Become(kubelet.Succeed(), s.Active()...)
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Completed: "0", Conditions: completed})
	})
}

// An ignored failure has its own annotation, and does not count towards the limit of the index.
func TestPerIndexIgnoredFailures(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Attempt == 0 {
			return kubelet.Fail(1).Disrupted()
		}
		return kubelet.Fail(1)
	}
	both(t, script, func(w *world.World) {
		spec := perIndex(1, 0)
		spec.PodFailurePolicy = failurePolicy(onCondition(ignore, corev1.DisruptionTarget))
		w.Create(spec)
		s := w.Until(observe.Want{Failed: 1, FailedIndexes: "0", Conditions: failedByIndexes})
		wantAnnotations(w, s, 0, failures, "0", "0")
		wantAnnotations(w, s, 0, ignoredFailures, "", "1")
	})
}

// The pods hold the failures of an index. The failures and the delay survive a restart between
// a failure and its replacement.
func TestPerIndexFailuresOverRestart(t *testing.T) {
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(2, 1))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		// The failure is observed, and counted when the replacement exists.
		w.Until(observe.Want{Active: 1, Ready: 1})
		w.Restart(func() { w.Become(kubelet.Succeed(), s.OfIndex(0)...) })
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1, Completed: "0"})
		wantAnnotations(w, s, 1, failures, "0", "1")
		w.Become(kubelet.Fail(1), s.Active()...)
		w.Until(observe.Want{Succeeded: 1, Failed: 2, Completed: "0", FailedIndexes: "1", Conditions: failedByIndexes})
		wantDelays(w, s.OfIndex(1))
	})
}
