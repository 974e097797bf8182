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

// wantAnnotations checks the annotations of all pods of an index, the oldest first.
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

// oddFail is the script of pods that succeed at even indexes and fail at odd ones.
func oddFail(p kubelet.Pod) kubelet.Life {
	if p.Index%2 == 1 {
		return kubelet.Fail(1)
	}
	return kubelet.Succeed()
}

// failTimes is the script of pods whose index succeeds after some failures.
func failTimes(times int) kubelet.Script {
	return func(p kubelet.Pod) kubelet.Life {
		if p.Attempt < times {
			return kubelet.Fail(1)
		}
		return kubelet.Succeed()
	}
}

// Each index fails as often as it may, and then succeeds: so does the Job. No
// limit holds for the Job as a whole.
func TestPerIndexWithinLimit(t *testing.T) {
	t.Parallel()
	both(t, failTimes(1), func(w *world.World) {
		w.Create(perIndex(8, 1))
		s := w.Until(observe.Want{Succeeded: 8, Failed: 8, Completed: "0-7", Conditions: completed})
		wantAnnotations(w, s, 7, failures, "0", "1")
	})
}

// "Ensure that all indexes are executed despite some failing": two at a time, the
// odd ones fail, twice each.
func TestPerIndexAllIndexesRun(t *testing.T) {
	t.Parallel()
	both(t, oddFail, func(w *world.World) {
		spec := perIndex(4, 1)
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		s := w.Until(observe.Want{Succeeded: 2, Failed: 4, Completed: "0,2", FailedIndexes: "1,3", Conditions: failedByIndexes})
		wantAnnotations(w, s, 0, failures, "0")
		wantAnnotations(w, s, 1, failures, "0", "1")
		wantAnnotations(w, s, 3, failures, "0", "1")
	})
}

// With limit 0 the first failure ends an index. The Job fails when the last index
// has ended, not before.
func TestPerIndexFailsAtTheEnd(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(2, 0))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1, FailedIndexes: "0"})
		w.Become(kubelet.Succeed(), s.OfIndex(1)...)
		s = w.Until(observe.Want{Succeeded: 1, Failed: 1, Completed: "1", FailedIndexes: "0", Conditions: failedByIndexes})
		if got, want := message(s.Job, batchv1.JobFailed), "Job has failed indexes"; got != want {
			w.T.Errorf("the message is %q, want %q", got, want)
		}
	})
}

// The failed pod is deleted at once, but not gone before it is counted and replaced:
// its annotation is what the replacement goes on from.
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

// A pod that is deleted while it runs counts as a failure of its index.
func TestPerIndexRunningPodDeleted(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(2, 0))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.DeletePods(s.OfIndex(1)...)
		w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1, FailedIndexes: "1"})
		w.Become(kubelet.Succeed(), s.OfIndex(0)...)
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Completed: "0", FailedIndexes: "1", Conditions: failedByIndexes})
	})
}

// The global limit holds as well, and is exceeded before that of any index.
func TestPerIndexGlobalLimitFirst(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := perIndex(3, 1)
		spec.BackoffLimit = new(int32(1))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		// It is seen, and counted when its replacement comes.
		w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		w.Until(observe.Want{Failed: 3, Conditions: failedByLimit})
	})
}

// More indexes fail than may: the Job fails at once, and ends the others.
func TestPerIndexMaxFailedIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := perIndex(4, 0)
		spec.MaxFailedIndexes = new(int32(1))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		w.Become(kubelet.Fail(1), s.OfIndex(2)...)
		w.Until(observe.Want{Active: 3, Ready: 3, Failed: 1, FailedIndexes: "2"})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		s = w.Until(observe.Want{Failed: 4, FailedIndexes: "0,2", Conditions: failedByMaxIndexes})
		if got, want := message(s.Job, batchv1.JobFailed), "Job has exceeded the specified maximal number of failed indexes"; got != want {
			w.T.Errorf("the message is %q, want %q", got, want)
		}
	})
}

// "Terminate job execution when the maxFailedIndexes is exceeded": one index after
// the other, and the first failure is one too many.
func TestPerIndexMaxFailedIndexesZero(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Fail(1)), func(w *world.World) {
		spec := perIndex(4, 0)
		spec.Parallelism, spec.MaxFailedIndexes = new(int32(1)), new(int32(0))
		w.Create(spec)
		w.View.Always("no other index runs", func(s observe.State) bool { return len(s.OfIndex(1, 2, 3)) == 0 })
		w.Until(observe.Want{Failed: 1, FailedIndexes: "0", Conditions: failedByMaxIndexes})
	})
}

// FailIndex ends an index at once, whatever its limit. Rules for exit codes and for
// conditions do; what matches neither goes by the limit.
func TestPerIndexFailIndex(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		switch p.Index {
		case 0:
			return kubelet.Fail(13)
		case 1:
			return kubelet.Fail(1).Disrupted()
		case 2:
			return kubelet.Fail(1)
		}
		return kubelet.Succeed()
	}
	both(t, script, func(w *world.World) {
		spec := perIndex(4, 1)
		spec.PodFailurePolicy = failurePolicy(onExit(failIndex, 13), onCondition(failIndex, corev1.DisruptionTarget))
		w.Create(spec)
		s := w.Until(observe.Want{Succeeded: 1, Failed: 4, Completed: "3", FailedIndexes: "0-2", Conditions: failedByIndexes})
		wantAnnotations(w, s, 0, failures, "0")
		wantAnnotations(w, s, 1, failures, "0")
		wantAnnotations(w, s, 2, failures, "0", "1")
	})
}

// FailIndex counts towards maxFailedIndexes.
func TestPerIndexFailIndexUpToMaxFailedIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := perIndex(3, 5)
		spec.MaxFailedIndexes = new(int32(1))
		spec.PodFailurePolicy = failurePolicy(onExit(failIndex, 42))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(42), s.OfIndex(1)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 1, FailedIndexes: "1"})
		w.Become(kubelet.Fail(42), s.OfIndex(2)...)
		w.Until(observe.Want{Failed: 3, FailedIndexes: "1,2", Conditions: failedByMaxIndexes})
	})
}

// FailJob ends all indexes, though the limits are far.
func TestPerIndexFailJob(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := perIndex(3, 5)
		spec.PodFailurePolicy = failurePolicy(onExit(failIndex, 42), onExit(failJob, 43))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(43), s.OfIndex(1)...)
		w.Until(observe.Want{Failed: 3, Conditions: failedByPolicy})
	})
}

// An ignored failure is kept in an annotation of its own, and does not bring the
// index nearer to its limit.
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

// The failures of an index are in its pods. They and the delay survive a restart between
// a failure and the replacement.
func TestPerIndexFailuresOverRestart(t *testing.T) {
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(perIndex(2, 1))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		// It is seen, and counted when its replacement comes.
		w.Until(observe.Want{Active: 1, Ready: 1})
		w.Restart(func() { w.Become(kubelet.Succeed(), s.OfIndex(0)...) })
		s = w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Failed: 1, Completed: "0"})
		wantAnnotations(w, s, 1, failures, "0", "1")
		w.Become(kubelet.Fail(1), s.Active()...)
		w.Until(observe.Want{Succeeded: 1, Failed: 2, Completed: "0", FailedIndexes: "1", Conditions: failedByIndexes})
		wantDelays(w, s.OfIndex(1))
	})
}
