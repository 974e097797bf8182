package decisions

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/validation"
)

func TestS1_eachPodIsCountedOnce(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		seen := map[types.UID]int{}
		u := r.after().UncountedTerminatedPods
		if u == nil {
			return
		}
		for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
			if seen[uid]++; seen[uid] > 1 {
				t.Fatalf("%s is in the lists twice: %+v", uid, u)
			}
		}
		for _, pod := range r.gone {
			if seen[pod.UID] > 0 {
				t.Fatalf("%s is listed although it has no finalizer: %+v", pod.UID, u)
			}
		}
		if r.indexed() {
			// After a Job is scaled down, the API server lets status.succeeded fall
			// only while completions equal parallelism.
			st, spec := r.after(), r.s.Job.Spec
			set, _ := indexset.ParseDamaged(st.CompletedIndexes, *spec.Completions)
			n := int32(set.Len())
			stuck := n < r.s.Job.Status.Succeeded && *spec.Completions != *spec.Parallelism
			if r.d.Status != nil && st.Succeeded != n && !(stuck && st.Succeeded == r.s.Job.Status.Succeeded) {
				t.Fatalf("succeeded is %d, completedIndexes %q, after %s", st.Succeeded, st.CompletedIndexes, decidetest.ToJSON(r.s.Job))
			}
		}
	})
}

func TestS2_finalizersAreRemovedOnlyWithARecordOrAReason(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		st := &r.s.Job.Status
		if r.d.Status != nil {
			st = r.d.Status
		}
		completed, _ := indexset.ParseDamaged(st.CompletedIndexes, 1<<31-1)
		for _, pod := range r.d.Strip {
			switch u := st.UncountedTerminatedPods; {
			case r.s.Job.DeletionTimestamp != nil || jobstatus.Finished(r.s.Job) != nil:
			case u != nil && slices.Contains(slices.Concat(u.Succeeded, u.Failed), pod.UID):
			case r.indexed() && (builtin.IndexOf(pod) < 0 || builtin.IndexOf(pod) >= *r.s.Job.Spec.Completions):
			case r.indexed() && pod.Status.Phase == corev1.PodSucceeded && completed.Contains(builtin.IndexOf(pod)):
			case r.s.Job.Spec.PodFailurePolicy != nil && ignored(r.s.Job, pod):
			case lifecycle.True(st.Conditions, batchv1.JobSuccessCriteriaMet) != nil && pod.Status.Phase != corev1.PodFailed:
			default:
				t.Fatalf("the finalizer of %s is removed without a record: %+v", pod.Name, st)
			}
		}
	})
}

func TestS3_countersDoNotFall(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		old, now := &r.s.Job.Status, r.after()
		if now.Failed < old.Failed {
			t.Fatalf("failed fell from %d to %d", old.Failed, now.Failed)
		}
		if !r.indexed() {
			if now.Succeeded < old.Succeeded {
				t.Fatalf("succeeded fell from %d to %d", old.Succeeded, now.Succeeded)
			}
			return
		}
		was, _ := indexset.ParseDamaged(old.CompletedIndexes, *r.s.Job.Spec.Completions)
		is, _ := indexset.ParseDamaged(now.CompletedIndexes, *r.s.Job.Spec.Completions)
		if lost := was.Difference(is); !lost.IsEmpty() {
			t.Fatalf("completedIndexes lost %s", lost)
		}
	})
}

func TestS4_indexesAreDisjointAndCanonical(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		if r.d.Status == nil || !r.indexed() {
			return
		}
		completed, err := indexset.Parse(r.after().CompletedIndexes)
		if err != nil {
			t.Fatalf("completedIndexes: %v", err)
		}
		if r.after().FailedIndexes == nil {
			return
		}
		failed, err := indexset.Parse(*r.after().FailedIndexes)
		if err != nil {
			t.Fatalf("failedIndexes: %v", err)
		}
		if completed.IntersectionLen(failed) > 0 {
			t.Fatalf("completed %s and failed %s overlap", completed, failed)
		}
	})
}

func TestS5_noMorePodsThanNeeded(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		d, spec := r.d, r.s.Job.Spec
		if len(d.Create) > 0 && len(d.Delete) > 0 {
			t.Fatalf("%d to create and %d to delete", len(d.Create), len(d.Delete))
		}
		if len(d.Create) == 0 {
			return
		}
		active, failedOnly := 0, spec.PodFailurePolicy != nil || spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy == batchv1.Failed
		taken := map[int32]string{}
		for _, pod := range ownPods(r.s) {
			terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			switch {
			case !terminal && pod.DeletionTimestamp == nil:
				active++
				taken[builtin.IndexOf(pod)] = "active"
			case !terminal && failedOnly:
				taken[builtin.IndexOf(pod)] = "terminating"
			}
		}
		if len(d.Create) > max(0, int(*spec.Parallelism)-active) {
			t.Fatalf("%d to create with %d active, parallelism %d", len(d.Create), active, *spec.Parallelism)
		}
		sets := jobstatus.Indexes(&batchv1.Job{Spec: spec, Status: *r.after()})
		for _, c := range d.Create {
			if !r.indexed() {
				break
			}
			if why := taken[c.Index]; why != "" {
				t.Fatalf("index %d gets a pod although it is %s", c.Index, why)
			}
			if sets.Finished.Contains(c.Index) || c.Index >= *spec.Completions {
				t.Fatalf("index %d gets a pod although it is finished or beyond completions", c.Index)
			}
			taken[c.Index] = "created"
		}
	})
}

func TestS7_noPodOnceTheEndIsKnown(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		if len(r.d.Create) == 0 {
			return
		}
		for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobComplete, batchv1.JobFailed} {
			if lifecycle.True(r.s.Job.Status.Conditions, c) != nil {
				t.Fatalf("a pod is created although %s", c)
			}
		}
		if r.s.Job.DeletionTimestamp != nil || r.s.Job.Spec.Suspend != nil && *r.s.Job.Spec.Suspend {
			t.Fatal("a pod is created for a suspended or deleted Job")
		}
	})
}

func TestS8S9_endsAreConsistent(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		st := r.after()
		is := func(c batchv1.JobConditionType) bool { return lifecycle.True(st.Conditions, c) != nil }
		complete, failed := is(batchv1.JobComplete), is(batchv1.JobFailed)
		over := jobstatus.Finished(r.s.Job) != nil
		if !over && r.settled.Finished != (complete || failed) {
			t.Fatalf("Finished is %t, conditions %+v", r.settled.Finished, st.Conditions)
		}
		for _, c := range r.s.Job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && c.Type != batchv1.JobSuspended && !is(c.Type) {
				t.Fatalf("%s was removed or is no longer True", c.Type)
			}
		}
		if !complete && !failed {
			if st.CompletionTime != nil {
				t.Fatalf("completionTime is set: %v", st)
			}
			return
		}
		switch {
		case complete && failed, is(batchv1.JobSuccessCriteriaMet) && is(batchv1.JobFailureTarget):
			t.Fatalf("Complete and Failed: %+v", st.Conditions)
		case complete && !is(batchv1.JobSuccessCriteriaMet), failed && !is(batchv1.JobFailureTarget):
			t.Fatalf("no interim condition: %+v", st.Conditions)
		case st.Active != 0, *st.Terminating != 0, *st.Ready != 0:
			t.Fatalf("active %d, terminating %d, ready %d at the end", st.Active, *st.Terminating, *st.Ready)
		case len(st.UncountedTerminatedPods.Failed)+len(st.UncountedTerminatedPods.Succeeded) != 0:
			t.Fatalf("uncounted at the end: %v", st.UncountedTerminatedPods)
		case st.StartTime == nil, complete != (st.CompletionTime != nil), complete && st.CompletionTime.Before(st.StartTime):
			t.Fatalf("started %v, completed %v", st.StartTime, st.CompletionTime)
		case over: // pods that are observed later do not matter
		case r.s.InFlight.Creations > 0, r.s.InFlight.Deletions > 0:
			t.Fatal("the Job ended before all pods were observed")
		case len(r.gone) != len(r.d.Strip):
			t.Fatal("the Job ended while a pod had its finalizer")
		}
	})
}

func TestS10_readyAndActive(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		st := r.after()
		if st.Ready != nil && (*st.Ready < 0 || *st.Ready > st.Active) || st.Active < 0 || st.Terminating != nil && *st.Terminating < 0 {
			t.Fatalf("active %d, ready %d, terminating %d", st.Active, *st.Ready, *st.Terminating)
		}
	})
}

func TestS11_everyStatusIsAccepted(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		job := r.s.Job.DeepCopy()
		defaulted := validation.Default(job)
		for _, st := range []*batchv1.JobStatus{r.d.Status, r.settled.Status} {
			if st == nil {
				continue
			}
			next := defaulted.DeepCopy()
			next.Status = *st.DeepCopy()
			if errs := validation.StatusUpdate(next, defaulted); len(errs) > 0 {
				t.Fatalf("the API server rejects %s\nafter %s\n%v", decidetest.ToJSON(next.Status), decidetest.ToJSON(defaulted.Status), errs.ToAggregate())
			}
			defaulted = next
		}
	})
}

func TestS12_noReplacementBeforeItsDelay(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		for _, c := range r.d.Create {
			if c.Replaces == nil {
				continue
			}
			wait := backoff.Policy{}.Remaining(builtin.CountsOf(c.Replaces.Annotations).Next(true).Total(), backoff.FinishTime(c.Replaces), r.s.Now)
			if wait > 0 {
				t.Fatalf("index %d gets a pod %s too early", c.Index, wait)
			}
		}
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
	})
}

// untilDeadline returns how long the Job may remain active, if its spec limits that.
func untilDeadline(r run) (left time.Duration, ok bool) {
	seconds, start := r.s.Job.Spec.ActiveDeadlineSeconds, r.after().StartTime
	if seconds == nil || start == nil || *seconds > 1e9 {
		return 0, false
	}
	return start.Add(time.Duration(*seconds) * time.Second).Sub(r.s.Now), true
}

func TestS13_failureCountsCarryOver(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		if r.s.Job.Spec.BackoffLimitPerIndex == nil {
			return
		}
		for _, c := range r.d.Create {
			got := builtin.CountsOf(c.Pod().Annotations)
			var want tracking.Counts
			if c.Replaces != nil {
				want = builtin.CountsOf(c.Replaces.Annotations).Next(!ignored(r.s.Job, c.Replaces))
			}
			if got != want {
				t.Fatalf("index %d: counts %+v, want %+v", c.Index, got, want)
			}
		}
	})
}

func TestS14_ignoredFailuresAreNotCounted(t *testing.T) {
	holds(t, func(t *rapid.T, r run) {
		if r.d.Status == nil || r.s.Job.Spec.PodFailurePolicy == nil {
			return
		}
		before := r.s.Job.Status.UncountedTerminatedPods
		for _, pod := range r.s.Pods {
			if !ignored(r.s.Job, pod) || before != nil && slices.Contains(before.Failed, pod.UID) {
				continue
			}
			if slices.Contains(r.d.Status.UncountedTerminatedPods.Failed, pod.UID) {
				t.Fatalf("%s is ignored, but counted", pod.Name)
			}
		}
	})
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
