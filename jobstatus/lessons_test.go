package jobstatus_test

// Defects that the Job controller and programs that read Jobs have had. kN in a test name is
// issue or pull request N of kubernetes/kubernetes. A comment describes the defect first.
// See also equal_test.go.

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// FailureTarget=False ended the Job. Here a condition counts only if its status is True.
func TestLesson_k125909_conditionStatus(t *testing.T) {
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown, "", "true"} {
		var conditions []batchv1.JobCondition
		for _, c := range ConditionTypes() {
			conditions = append(conditions, Stated(c, status))
		}
		job := WithConditions(conditions...)
		Same(t, string(status)+": outcome", jobstatus.OutcomeOf(job), jobstatus.Outcome{Phase: jobstatus.Running})
		Same(t, string(status)+": finished", jobstatus.Finished(job), nil)
	}
	// A condition that is not True does not hide a later one that is.
	both := WithConditions(No(batchv1.JobFailed), Yes(batchv1.JobFailed), No(batchv1.JobFailureTarget), Yes(batchv1.JobFailureTarget))
	Same(t, "finished", jobstatus.Finished(both), &both.Status.Conditions[1])
	Same(t, "outcome", jobstatus.OutcomeOf(both).Phase, jobstatus.Failed)
}

// fluxcd, argo, karmada, trivy, keptn: they read only the first or the last condition.
// Here the order of the conditions does not matter.
func TestLesson_conditionsInAnyOrder(t *testing.T) {
	other, last := No(batchv1.JobSuspended), Yes(batchv1.JobFailed)
	for _, job := range []*batchv1.Job{WithConditions(other, last), WithConditions(last, other)} {
		Same(t, "phase", jobstatus.OutcomeOf(job).Phase, jobstatus.Failed)
		Same(t, "finished", jobstatus.Finished(job).Type, batchv1.JobFailed)
	}
}

// An index in both sets counted twice: a Job of 2 indexes ended although index 1 had never
// run.
func TestLesson_indexesAreInOneSet(t *testing.T) {
	sets := jobstatus.Indexes(indexedJob(2, "0", new("0")))
	Same(t, "unfinished", sets.Unfinished, indexset.Of(1))
}

// Damaged interval lists caused negative counts and failed searches. Here the sets are always
// within completions and disjoint.
func TestLesson_damagedIndexes(t *testing.T) {
	for _, text := range []string{"5,1", "2,2", "1-5,3", "9-3", "1-2-3", "-4", "x", ",", "0-2147483646", "7,99999999999"} {
		job := indexedJob(10, text, new("0-2147483646"))
		sets := jobstatus.Indexes(job)
		if sets.Completed.IntersectionLen(sets.Failed) > 0 || !sets.Finished.Equal(indexset.Range(0, 9)) || !sets.Unfinished.IsEmpty() {
			t.Errorf("%q: completed %v, failed %v, finished %v, unfinished %v", text, sets.Completed, sets.Failed, sets.Finished, sets.Unfinished)
		}
		Same(t, text+": finished", jobstatus.IndexesFinished(job), 10)
	}
}

// kueue#13163, #12670: a queue needs to know how many pods a Job still holds, and how many
// of its indexes are finished.
func TestLesson_kueue_quota(t *testing.T) {
	job := indexedJob(10, "0-3", new("3-5"))
	job.Status.Active, job.Status.Terminating = 2, new(int32(1))
	Same(t, "held", jobstatus.PodsHeld(job), int32(3))
	Same(t, "finished", jobstatus.IndexesFinished(job), 6)
}

// jobset#928: a decided Job was treated as terminal.
func TestLesson_jobset928_decidedIsNotTerminal(t *testing.T) {
	got := jobstatus.OutcomeOf(WithConditions(Yes(batchv1.JobFailureTarget)))
	Same(t, "decided, terminal", []bool{got.Decided(), got.Terminal()}, []bool{true, false})
}

// Fields without their defaults caused panics.
func TestLesson_k121011_nothingPanics(t *testing.T) {
	Same(t, "Finished", jobstatus.Finished(nil), nil)
	Same(t, "Patch", jobstatus.Patch("", "", nil), nil)
	Same(t, "OutcomeOf", jobstatus.OutcomeOf(nil), jobstatus.Outcome{Phase: jobstatus.Running})
	Same(t, "DemandOf", jobstatus.DemandOf(nil), jobstatus.Demand{})
	Same(t, "DemandWithPods", jobstatus.DemandWithPods(nil, nil, tracking.Keys{}), jobstatus.Demand{})
	Same(t, "Suspension", jobstatus.Suspension{}.After(nil), jobstatus.Suspension{})
}
