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

// oddFail is a script in which pods of even indexes succeed and pods of odd indexes fail.
func oddFail(p kubelet.Pod) kubelet.Life {
	if p.Index%2 == 1 {
		return kubelet.Fail(1)
	}
	return kubelet.Succeed()
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

// Each index uses all its retries and then succeeds, and so does the Job. The Job as a whole
// has no limit.
func TestPerIndexWithinLimit(t *testing.T) {
	t.Parallel()
	both(t, failTimes(1), func(w *world.World) {
		w.Create(perIndex(8, 1))
		s := w.Until(observe.Want{Succeeded: 8, Failed: 8, Completed: "0-7", Conditions: completed})
		wantAnnotations(w, s, 7, failures, "0", "1")
	})
}

// "Ensure that all indexes are executed despite some failing": two run at a time, and the odd
// indexes fail twice each.
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

// With limit 0 the first failure fails an index. The Job fails only when the last index has
// ended.
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

// A pod that is deleted while it is running counts as a failure of its index.
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

// The global limit also applies, and is exceeded before the limit of any index.
func TestPerIndexGlobalLimitFirst(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := perIndex(3, 1)
		spec.BackoffLimit = new(int32(1))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		// The failure is observed, and counted when the replacement exists.
		w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		w.Until(observe.Want{Failed: 3, Conditions: failedByLimit})
	})
}

// More indexes fail than allowed: the Job fails at once, and the other pods are deleted.
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

// "Terminate job execution when the maxFailedIndexes is exceeded": indexes run one after
// another, and the first failed index exceeds the limit.
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

// A FailIndex rule, for exit codes or for conditions, fails an index at once, regardless of
// its limit. A failure that no rule matches counts towards the limit.
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

// FailJob fails the whole Job, although no limit is reached.
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
