package jobstatus_test

// What went wrong in the Job controller over the years, and in software that
// reads Jobs. k#N is a thread of kubernetes/kubernetes. See also equal_test.go and
// deadline_test.go.

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

// FailureTarget=False ended the Job. Every reading of a condition looks at its
// status.
func TestLesson_k125909_conditionStatus(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, "", "true"} {
		var conditions []batchv1.JobCondition
		for _, c := range conditionTypes {
			conditions = append(conditions, condition(c, status))
		}
		for _, c := range conditionTypes {
			if got := jobstatus.True(conditions, c); got != nil {
				t.Errorf("True(%s=%q) = %v, want nil", c, status, got)
			}
		}
		job := withConditions(conditions...)
		same(t, string(status)+": end", jobstatus.Decide(&jobstatus.Facts{Conditions: conditions}), jobstatus.End{})
		same(t, string(status)+": outcome", jobstatus.OutcomeOf(job), jobstatus.Outcome{Phase: jobstatus.Running})
		if got := jobstatus.Finished(job); got != nil {
			t.Errorf("%s=%q finishes the Job", got.Type, status)
		}
	}
	// One that is not True does not hide one that is.
	both := withConditions(no(batchv1.JobFailed), yes(batchv1.JobFailed), no(batchv1.JobFailureTarget), yes(batchv1.JobFailureTarget))
	same(t, "finished", jobstatus.Finished(both), &both.Status.Conditions[1])
	same(t, "end", jobstatus.Decide(&jobstatus.Facts{Conditions: both.Status.Conditions}).Rule, "FailureTarget")
}

// fluxcd, argo, karmada, trivy, keptn: they read conditions[0], or the last. The
// order of conditions means nothing.
func TestLesson_conditionsInAnyOrder(t *testing.T) {
	other, last := no(batchv1.JobSuspended), yes(batchv1.JobFailed)
	for _, job := range []*batchv1.Job{withConditions(other, last), withConditions(last, other)} {
		same(t, "phase", jobstatus.OutcomeOf(job).Phase, jobstatus.Failed)
		same(t, "finished", jobstatus.Finished(job).Type, batchv1.JobFailed)
	}
}

// A Job of zero completions that was suspended could not be completed: the start
// time was missing.
func TestLesson_k132144_zeroCompletionsWhileSuspended(t *testing.T) {
	for _, completions := range []int32{0, 1} {
		for _, suspend := range []bool{false, true} {
			job := storedJob()
			job.Spec.Suspend, job.Spec.Completions = &suspend, &completions
			facts := &jobstatus.Facts{Completions: &completions, Succeeded: completions, Settled: true, Limit: backoff.Limit{PerJob: 6}}
			end := jobstatus.Decide(facts)
			same(t, "end", end.Rule, "Completions")
			next := job.DeepCopy()
			jobstatus.EnterInterim(&next.Status, end, noon)
			if !jobstatus.EnterTerminal(&next.Status, end, 0, noon) {
				t.Errorf("completions %d, suspend %v: the Job does not end", completions, suspend)
			}
			if errs := append(validation.StatusUpdate(next, job), validation.Status(next)...); len(errs) > 0 {
				t.Errorf("completions %d, suspend %v: the API server refuses it: %v", completions, suspend, errs.ToAggregate())
			}
		}
	}
}

// Resuming reset the start time in a way that was refused.
func TestLesson_k134521_suspendResumeSuspend(t *testing.T) {
	job := storedJob()
	job.Status.StartTime = ptrTo(after(-60))
	for i, suspend := range []bool{true, false, false, true, true, false} {
		next := job.DeepCopy()
		next.Spec.Suspend = &suspend
		old := job.DeepCopy()
		old.Spec.Suspend = &suspend // the user changes the spec first
		jobstatus.Suspend(&next.Status, suspend, after(i).Time)
		if errs := validation.StatusUpdate(next, old); len(errs) > 0 {
			t.Errorf("step %d, suspend %v: the API server refuses it: %v", i, suspend, errs.ToAggregate())
		}
		same(t, "has a start time", next.Status.StartTime != nil, !suspend)
		job = next
	}
}

// A Job finished with pods that ran, terminated, or were not counted.
func TestLesson_k123775_k109485_k119160_notBeforeAllIsDone(t *testing.T) {
	status := func() *batchv1.JobStatus {
		return &batchv1.JobStatus{Conditions: []batchv1.JobCondition{yes(batchv1.JobFailureTarget)}}
	}
	active, uncounted := status(), status()
	active.Active, active.Ready = 1, ptrTo[int32](1)
	uncounted.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
	same(t, "active", jobstatus.EnterTerminal(active, failing, 0, noon), false)
	same(t, "terminating", jobstatus.EnterTerminal(status(), failing, 1, noon), false)
	same(t, "uncounted", jobstatus.EnterTerminal(uncounted, failing, 0, noon), false)
	same(t, "no interim condition", jobstatus.EnterTerminal(&batchv1.JobStatus{}, failing, 0, noon), false)
	same(t, "done", jobstatus.EnterTerminal(status(), failing, 0, noon), true)
	// Completions are not reached while a creation is still to be seen.
	facts := jobstatus.Facts{Completions: ptrTo[int32](1), Succeeded: 1}
	same(t, "unseen", jobstatus.Decide(&facts).Ended(), false)
	facts.Settled = true
	same(t, "seen", jobstatus.Decide(&facts).Ended(), true)
}

// An index in both sets counted twice: a Job of 2 indexes ended with index 1
// never run.
func TestLesson_endIsDecidedOnTheUnion(t *testing.T) {
	facts := jobstatus.Facts{
		Completions: ptrTo[int32](2), Limit: backoff.Limit{Target: backoff.TargetIndex, PerJob: 6},
		Completed: indexset.Of(0), FailedIndexes: indexset.Of(0).Difference(indexset.Of(0)),
	}
	same(t, "index 1 has not run", jobstatus.Decide(&facts).Ended(), false)
	facts.FailedIndexes = indexset.Of(1)
	same(t, "both have", jobstatus.Decide(&facts).Rule, "FailedIndexes")
	sets := jobstatus.Indexes(indexedJob(2, "0", ptrTo("0")))
	same(t, "unfinished", sets.Unfinished, indexset.Of(1))
}

// Restart policy OnFailure sums restarts, off by one at 0.
func TestLesson_k54870_k67859_k95438_restarts(t *testing.T) {
	for _, tc := range []struct {
		limit    int32
		restarts int64
		want     bool
	}{{0, 0, false}, {0, 1, true}, {1, 0, false}, {1, 1, true}, {6, 5, false}, {6, 6, true}} {
		facts := jobstatus.Facts{Restarts: tc.restarts, CountRestarts: true, Limit: backoff.Limit{PerJob: tc.limit}}
		if got := jobstatus.Decide(&facts).Ended(); got != tc.want {
			t.Errorf("limit %d, %d restarts: ends = %v, want %v", tc.limit, tc.restarts, got, tc.want)
		}
	}
}

// Interval lists that no controller writes: negative counts, broken searches.
// Whatever they hold, the sets are within completions, and disjoint.
func TestLesson_damagedIndexes(t *testing.T) {
	for _, text := range []string{"5,1", "2,2", "1-5,3", "9-3", "1-2-3", "-4", "x", ",", "0-2147483646", "7,99999999999"} {
		job := indexedJob(10, text, ptrTo("0-2147483646"))
		sets := jobstatus.Indexes(job)
		if sets.Completed.IntersectionLen(sets.Failed) > 0 || !sets.Finished.Equal(indexset.Range(0, 9)) || !sets.Unfinished.IsEmpty() {
			t.Errorf("%q: completed %v, failed %v, finished %v, unfinished %v", text, sets.Completed, sets.Failed, sets.Finished, sets.Unfinished)
		}
		same(t, text+": finished", jobstatus.IndexesFinished(job), 10)
	}
}

// kueue#13163, #12670: how many pods a Job still holds, and how many of its
// indexes are finished.
func TestLesson_kueue_quota(t *testing.T) {
	job := indexedJob(10, "0-3", ptrTo("3-5"))
	job.Status.Active, job.Status.Terminating = 2, ptrTo[int32](1)
	same(t, "held", jobstatus.PodsHeld(job), int32(3))
	same(t, "finished", jobstatus.IndexesFinished(job), 6)
}

// jobset#928: decided is not terminal.
func TestLesson_jobset928_decidedIsNotTerminal(t *testing.T) {
	got := jobstatus.OutcomeOf(withConditions(yes(batchv1.JobFailureTarget)))
	same(t, "decided, terminal", []bool{got.Decided(), got.Terminal()}, []bool{true, false})
}

// Nothing that nobody defaulted makes anything here panic.
func TestLesson_k121011_nothingPanics(t *testing.T) {
	jobstatus.EnterInterim(nil, failing, noon)
	same(t, "EnterTerminal", jobstatus.EnterTerminal(nil, failing, 0, noon), false)
	same(t, "Suspend", jobstatus.Suspend(nil, false, noon), jobstatus.Unchanged)
	same(t, "Finished", jobstatus.Finished(nil), (*batchv1.JobCondition)(nil))
	same(t, "Patch", jobstatus.Patch("", "", nil), []byte(nil))
	same(t, "a zero end", jobstatus.End{}.Terminal(), batchv1.JobFailed)
	same(t, "a policy for no completions", jobstatus.NewSuccessPolicy(&batchv1.SuccessPolicy{
		Rules: []batchv1.SuccessPolicyRule{{}, {SucceededCount: ptrTo[int32](-1)}, {SucceededIndexes: ptrTo("-")}},
	}, -1<<31).Match(indexset.Of(0)), -1)
}
