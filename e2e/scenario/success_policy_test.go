package scenario

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// withSuccessPolicy adds a success policy to a spec.
func withSuccessPolicy(spec batchv1.JobSpec, rules ...batchv1.SuccessPolicyRule) batchv1.JobSpec {
	spec.SuccessPolicy = successPolicy(rules...)
	return spec
}

// succeedAt makes the running pods of some indexes succeed.
func succeedAt(w *world.World, s observe.State, indexes ...int) {
	w.Become(kubelet.Succeed(), s.OfIndex(indexes...)...)
}

// When every index has succeeded, the reason of the condition is the policy, not the
// completions.
func TestSuccessPolicyAllIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Succeed()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(1), succeeding("0")))
		s := w.Until(observe.Want{Succeeded: 1, Completed: "0", Conditions: succeededByPolicy})
		for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			if got, want := message(s.Job, c), "Matched rules at index 0"; got != want {
				w.T.Errorf("the message of %s is %q, want %q", c, got, want)
			}
		}
	})
}

// A rule that requires all indexes is met with the last one.
func TestSuccessPolicyCountOfAllIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(2), succeedingAny(2)))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		succeedAt(w, s, 1)
		w.Until(observe.Want{Active: 1, Ready: 1, Succeeded: 1, Completed: "1"})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: succeededByPolicy})
	})
}

// The index of the rule succeeds. The pod of the other index is deleted and counts neither as
// succeeded nor as failed.
func TestSuccessPolicySucceededIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(3), succeeding("1")))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Completed: "0"})
		succeedAt(w, s, 1)
		w.Until(observe.Want{Succeeded: 2, Completed: "0,1", Conditions: succeededByPolicy})
	})
}

// Any index meets the rule. The other pod has not started yet.
func TestSuccessPolicySucceededCount(t *testing.T) {
	t.Parallel()
	script := func(p kubelet.Pod) kubelet.Life {
		if p.Index == 0 {
			return kubelet.Wait()
		}
		return kubelet.Run()
	}
	both(t, script, func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(2), succeedingAny(1)))
		s := w.Until(observe.Want{Active: 2, Ready: 1})
		succeedAt(w, s, 1)
		w.Until(observe.Want{Succeeded: 1, Completed: "1", Conditions: succeededByPolicy})
	})
}

// In a rule with both fields, only successes among the indexes count towards the number.
func TestSuccessPolicyCountWithinIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		rule := succeeding("0,2-3")
		rule.SucceededCount = new(int32(2))
		w.Create(withSuccessPolicy(indexed(5), rule))
		s := w.Until(observe.Want{Active: 5, Ready: 5})
		succeedAt(w, s, 1, 4, 3)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 3, Completed: "1,3,4"})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Succeeded: 4, Completed: "0,1,3,4", Conditions: succeededByPolicy})
	})
}

// One rule of several is enough. The message names it.
func TestSuccessPolicySeveralRules(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(4), succeeding("0-1"), succeedingAny(3), succeeding("2-3")))
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		succeedAt(w, s, 1, 3)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 2, Completed: "1,3"})
		succeedAt(w, s, 2)
		// Rules 1 and 2 are met now; the message names the first of them.
		s = w.Until(observe.Want{Succeeded: 3, Completed: "1-3", Conditions: succeededByPolicy})
		if got, want := message(s.Job, batchv1.JobComplete), "Matched rules at index 1"; got != want {
			w.T.Errorf("the message is %q, want %q", got, want)
		}
	})
}

// A failing index does not block the policy: odd indexes are backing off while the even ones
// meet the policy.
func TestSuccessPolicyWithFailingIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(4), succeeding("0,2")))
		s := w.Until(observe.Want{Active: 4, Ready: 4})
		w.Become(kubelet.Fail(1), s.OfIndex(1, 3)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 2})
		succeedAt(w, s, 0, 2)
		w.Until(observe.Want{Succeeded: 2, Failed: 2, Completed: "0,2", Conditions: succeededByPolicy})
	})
}

// The policy is met while other indexes are still pending. They never run.
func TestSuccessPolicyWithPendingIndexes(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := withSuccessPolicy(indexed(5), succeeding("0"))
		spec.Parallelism = new(int32(2))
		w.Create(spec)
		w.View.Always("indexes from 2 on never run", func(s observe.State) bool { return len(s.OfIndex(2, 3, 4)) == 0 })
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Succeeded: 1, Completed: "0", Conditions: succeededByPolicy})
	})
}

// The backoff limit is exceeded before the policy is met: the Job fails.
func TestSuccessPolicyNotMetBeforeBackoffLimit(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		spec := withSuccessPolicy(indexed(3), succeedingAny(2))
		spec.BackoffLimit = new(int32(0))
		w.Create(spec)
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		succeedAt(w, s, 0)
		w.Until(observe.Want{Active: 2, Ready: 2, Succeeded: 1, Completed: "0"})
		w.Become(kubelet.Fail(1), s.OfIndex(1)...)
		w.Until(observe.Want{Succeeded: 1, Failed: 2, Completed: "0", Conditions: failedByLimit})
	})
}

// A failed index does not prevent the policy from being met while others run.
func TestSuccessPolicyWithFailedIndex(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(perIndex(3, 0), succeedingAny(1)))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		w.Until(observe.Want{Active: 2, Ready: 2, Failed: 1, FailedIndexes: "0"})
		succeedAt(w, s, 1)
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Completed: "1", FailedIndexes: "0", Conditions: succeededByPolicy})
	})
}

// If the success that meets the policy is also the end of the last index, the failed index
// decides.
func TestSuccessPolicyMetWithLastIndex(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run()), func(w *world.World) {
		w.Create(withSuccessPolicy(perIndex(2, 0), succeedingAny(1)))
		s := w.Until(observe.Want{Active: 2, Ready: 2})
		w.Become(kubelet.Fail(1), s.OfIndex(0)...)
		w.Until(observe.Want{Active: 1, Ready: 1, Failed: 1, FailedIndexes: "0"})
		succeedAt(w, s, 1)
		w.Until(observe.Want{Succeeded: 1, Failed: 1, Completed: "1", FailedIndexes: "0", Conditions: failedByIndexes})
	})
}

// The lingering pods are deleted, and the Job is Complete when they are gone. Even if they
// succeed, nothing changes.
func TestSuccessPolicyEndsLingeringPods(t *testing.T) {
	t.Parallel()
	both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
		w.Create(withSuccessPolicy(indexed(3), succeeding("1")))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		succeedAt(w, s, 1)
		lingering := observe.Want{Succeeded: 1, Terminating: 2, Completed: "1", Conditions: succeededByPolicy[:1]}
		w.Until(lingering)
		w.Become(kubelet.Run().Dying(0, 0), s.OfIndex(0)...)
		lingering.Terminating = 1
		w.Until(lingering)
		w.Become(kubelet.Run(), s.OfIndex(2)...)
		w.Until(observe.Want{Succeeded: 1, Completed: "1", Conditions: succeededByPolicy})
	})
}

// The condition SuccessCriteriaMet records which rule was met. The Job completes although the
// pod is deleted while no controller runs.
func TestSuccessPolicyOverRestart(t *testing.T) {
	both(t, kubelet.Always(kubelet.Run().NeverDying()), func(w *world.World) {
		w.Create(withSuccessPolicy(perIndex(3, 0), succeedingAny(1)))
		s := w.Until(observe.Want{Active: 3, Ready: 3})
		succeedAt(w, s, 2)
		w.Until(observe.Want{Succeeded: 1, Terminating: 2, Completed: "2", Conditions: succeededByPolicy[:1]})
		w.When("all pods are counted", func(s observe.State) bool { return len(s.Tracked()) == 0 })
		w.Restart(func() {
			w.DeletePods(s.OfIndex(2)...)
			w.Become(kubelet.Fail(1), s.OfIndex(0, 1)...)
			w.When("the failing pods have ended, the other is gone", func(now observe.State) bool {
				return len(now.OfIndex(2)) == 0 && len(now.Sorted(func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })) == 0
			})
		})
		w.Until(observe.Want{Succeeded: 1, Completed: "2", Conditions: succeededByPolicy})
	})
}
