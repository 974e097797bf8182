package decisions

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// The writes of a decision have the properties that the referee checks, S1 to S22, and a decision
// says what a write does not show.
func TestProperties(t *testing.T) {
	for name, snapshots := range snapshotsOf {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				rapid.Check(t, func(t *rapid.T) {
					r := drawRun(t, snapshots)
					if v := r.judge(); v != nil {
						t.Fatalf("%v\nafter %s", v, decidetest.ToJSON(r.s))
					}
					r.checkLists(t)
					r.checkEnd(t)
					r.checkDelays(t)
				})
			}
		})
	}
}

// checkLists checks that a pod without its finalizer leaves the uncounted lists, that pods are
// either created or deleted, and that a creation takes over the counts of the pod that it replaces.
func (r run) checkLists(t *rapid.T) {
	if u := r.after().UncountedTerminatedPods; u != nil {
		for _, pod := range r.gone {
			if slices.Contains(slices.Concat(u.Succeeded, u.Failed), pod.UID) {
				t.Fatalf("%s is listed although it has no finalizer: %+v", pod.UID, u)
			}
		}
	}
	if len(r.d.Create) > 0 && len(r.d.Delete) > 0 {
		t.Fatalf("%d to create and %d to delete", len(r.d.Create), len(r.d.Delete))
	}
	names := tracking.Keys{}.WithDefaults()
	for _, c := range r.d.Create {
		var want classify.Counts
		if c.Replaces != nil {
			want = classify.CountsOf(&names, c.Replaces.Annotations).Next(referee.Action(r.s.Job, c.Replaces) != batchv1.PodFailurePolicyActionIgnore)
		}
		if got := classify.CountsOf(&names, c.Pod().Annotations); got != want && r.s.Job.Spec.BackoffLimitPerIndex != nil {
			t.Fatalf("index %d: counts %+v, want %+v", c.Index, got, want)
		}
	}
}

// checkEnd checks that Finished says whether the Job has ended, and that it ends only once all its
// pods were observed.
func (r run) checkEnd(t *rapid.T) {
	if jobstatus.Finished(r.s.Job) != nil {
		return // pods that are observed later do not matter
	}
	ended := jobstatus.Finished(&batchv1.Job{Status: *r.after()}) != nil
	switch {
	case r.settled.Finished != ended:
		t.Fatalf("Finished is %t, conditions %+v", r.settled.Finished, r.after().Conditions)
	case ended && (r.s.InFlight.Creations > 0 || r.s.InFlight.Deletions > 0):
		t.Fatal("the Job ended before all pods were observed")
	}
}

// checkDelays checks that pods wait for the delay of the backoff record, and the controller for no
// less than a second.
func (r run) checkDelays(t *rapid.T) {
	if len(r.d.Create) > 0 && r.s.Job.Spec.BackoffLimitPerIndex == nil && (backoff.Policy{}).Remaining(r.d.Backoff.Failures, r.d.Backoff.LastFailure, r.s.Now) > 0 {
		t.Fatalf("pods are created within the delay of %+v", r.d.Backoff)
	}
	least := time.Second
	if left, ok := untilDeadline(r); ok {
		least = min(least, left)
	}
	if len(r.d.Create) == 0 && explain.Of(r.d).Job().Code == explain.JobBackingOff && r.d.Requeue < least {
		t.Fatalf("backing off, but the requeue is %s", r.d.Requeue)
	}
}

// untilDeadline returns how long the Job may remain active, if its spec limits that.
func untilDeadline(r run) (left time.Duration, ok bool) {
	seconds, start := r.s.Job.Spec.ActiveDeadlineSeconds, r.after().StartTime
	if seconds == nil || start == nil || *seconds > 1e9 {
		return 0, false
	}
	return start.Add(time.Duration(*seconds) * time.Second).Sub(r.s.Now), true
}

func TestS16_decisionsAreFunctions(t *testing.T) {
	for name, snapshots := range snapshotsOf {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := snapshots.Draw(t, "snapshot")
				before := decidetest.ToJSON(s)
				first := decideAll(t, s)
				if after := decidetest.ToJSON(s); after != before {
					t.Fatalf("the snapshot was changed:\n%s", cmp.Diff(before, after))
				}
				if diff := cmp.Diff(first, decideAll(t, s)); diff != "" {
					t.Fatalf("the second decision differs:\n%s", diff)
				}
				shuffled := s
				shuffled.Pods = rapid.Permutation(s.Pods).Draw(t, "order")
				if diff := cmp.Diff(first, decideAll(t, shuffled)); diff != "" {
					t.Fatalf("with the pods in another order:\n%s", diff)
				}
			})
		})
	}
}
