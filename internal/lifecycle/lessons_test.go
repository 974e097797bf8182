package lifecycle_test

// Defects that the Job controller has had. kN in a test name is issue or pull request N of
// kubernetes/kubernetes. A comment describes the defect first.

import (
	"fmt"
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

// FailureTarget=False ended the Job. Here a condition counts only if its status is True.
func TestLesson_k125909_conditionStatus(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, "", "true"} {
		conditions := Each(ConditionTypes(), func(c batchv1.JobConditionType) batchv1.JobCondition { return Stated(c, status) })
		for _, c := range ConditionTypes() {
			Same(t, fmt.Sprintf("True(%s=%q)", c, status), jobstatus.True(conditions, c), nil)
		}
		Same(t, string(status)+": end", lifecycle.EndOf(&lifecycle.Inputs{Conditions: conditions}), lifecycle.End{})
		Same(t, string(status)+": finished", jobstatus.Finished(WithConditions(conditions...)), nil)
	}
	// A condition that is not True does not hide a later one that is.
	both := WithConditions(No(batchv1.JobFailed), Yes(batchv1.JobFailed), No(batchv1.JobFailureTarget), Yes(batchv1.JobFailureTarget))
	Same(t, "finished", jobstatus.Finished(both), &both.Status.Conditions[1])
	Same(t, "end", lifecycle.EndOf(&lifecycle.Inputs{Conditions: both.Status.Conditions}).Rule(), "FailureTarget")
}

// A suspended Job with zero completions could not complete, because its start time was
// missing.
func TestLesson_k132144_zeroCompletionsWhileSuspended(t *testing.T) {
	for _, completions := range []int32{0, 1} {
		for _, suspend := range []bool{false, true} {
			job := NewJob()
			job.Spec.Suspend, job.Spec.Completions = &suspend, &completions
			facts := &lifecycle.Inputs{Completions: &completions, Succeeded: completions, Settled: true, Limit: backoff.Limit{PerJob: 6}}
			end := lifecycle.EndOf(facts)
			Same(t, "end", end.Rule(), "Completions")
			next := job.DeepCopy()
			lifecycle.EnterInterim(&next.Status, end, Noon())
			if !lifecycle.EnterTerminal(&next.Status, end, 0, Noon()) {
				t.Errorf("completions %d, suspend %v: the Job does not end", completions, suspend)
			}
			if errs := append(validation.StatusUpdate(next, job), validation.Status(next)...); len(errs) > 0 {
				t.Errorf("completions %d, suspend %v: the API server rejects it: %v", completions, suspend, errs.ToAggregate())
			}
		}
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121011_nothingPanics(t *testing.T) {
	Same(t, "Finished", jobstatus.Finished(nil), nil)
	Same(t, "a zero end", lifecycle.End{}.Terminal(), batchv1.JobFailed)
	Same(t, "a policy for no completions", lifecycle.NewSuccessPolicy(&batchv1.SuccessPolicy{
		Rules: []batchv1.SuccessPolicyRule{{}, {SucceededCount: new(int32(-1))}, {SucceededIndexes: new("-")}},
	}, -1<<31).Match(indexset.Of(0)), -1)
}

// A deadline above 9.2×10^9 seconds overflowed, and the Job failed at once.
func TestLesson_deadlineOverflow(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, tc := range []struct {
		reason  string
		seconds int64
		start   time.Time
		want    time.Duration
	}{
		{"usual", 60, After(-20).Time, 40 * time.Second},
		{"just passed", 60, After(-60).Time, 0},
		{"passed", 60, After(-90).Time, -30 * time.Second},
		{"a start in the future", 60, After(20).Time, 80 * time.Second},
		{"at once", 0, Noon(), 0},
		{"negative", -5, Noon(), 0},
		{"the least", math.MinInt64, time.Time{}, math.MinInt64},
		{"9.2×10^9 s", 9_223_372_037, Noon(), longest.Truncate(time.Second)},
		{"the greatest", math.MaxInt64, Noon(), longest.Truncate(time.Second)},
		{"the greatest, and a start in the future", math.MaxInt64, After(20).Time, longest},
		{"a start that no duration reaches", 60, Noon().AddDate(500, 0, 0), longest},
		{"a start ages ago", 60, time.Time{}, math.MinInt64},
		{"a start ages ago and the greatest", math.MaxInt64, time.Time{}, math.MinInt64},
	} {
		Same(t, tc.reason+": Deadline", lifecycle.Deadline(tc.seconds, tc.start, Noon()), tc.want)
	}
}
