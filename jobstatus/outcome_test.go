package jobstatus_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

func TestOutcomeOf(t *testing.T) {
	for _, tc := range []struct {
		reason            string
		job               *batchv1.Job
		want              jobstatus.Phase
		decided, terminal bool
	}{
		{"no Job", nil, jobstatus.Running, false, false},
		{"no conditions", withConditions(), jobstatus.Running, false, false},
		{"suspended", withConditions(yes(batchv1.JobSuspended)), jobstatus.Suspended, false, false},
		{"resumed", withConditions(no(batchv1.JobSuspended)), jobstatus.Running, false, false},
		{"failing", withConditions(yes(batchv1.JobFailureTarget)), jobstatus.Failing, true, false},
		{"succeeding", withConditions(yes(batchv1.JobSuccessCriteriaMet)), jobstatus.Succeeding, true, false},
		{"failed", withConditions(yes(batchv1.JobFailureTarget), yes(batchv1.JobFailed)), jobstatus.Failed, true, true},
		{"complete", withConditions(yes(batchv1.JobSuccessCriteriaMet), yes(batchv1.JobComplete)), jobstatus.Complete, true, true},
		{"complete while it was suspended", withConditions(yes(batchv1.JobSuspended), yes(batchv1.JobComplete)), jobstatus.Complete, true, true},
		{"both", withConditions(yes(batchv1.JobComplete), yes(batchv1.JobFailed)), jobstatus.Failed, true, true},
	} {
		got := jobstatus.OutcomeOf(tc.job)
		same(t, tc.reason, got.Phase, tc.want)
		same(t, tc.reason+": decided", got.Decided(), tc.decided)
		same(t, tc.reason+": terminal", got.Terminal(), tc.terminal)
	}
	got := jobstatus.OutcomeOf(withConditions(yes(batchv1.JobFailed)))
	same(t, "outcome", got, jobstatus.Outcome{Phase: jobstatus.Failed, Reason: "FailedReason", Message: "Failed message", Since: after(-9).Time})
}

// With several conditions the outcome is the first of these, whatever their order in the status.
// A suspended Job can fail too: its FailureTarget stands beside Suspended until its pods are
// gone. A queue that read it as suspended would wait for it to be resumed, and never take its
// quota back.
func TestOutcomeOf_theVerdictOutranksTheSuspension(t *testing.T) {
	ranked := []struct {
		condition batchv1.JobConditionType
		phase     jobstatus.Phase
	}{
		{batchv1.JobFailed, jobstatus.Failed},
		{batchv1.JobComplete, jobstatus.Complete},
		{batchv1.JobSuccessCriteriaMet, jobstatus.Succeeding},
		{batchv1.JobFailureTarget, jobstatus.Failing},
		{batchv1.JobSuspended, jobstatus.Suspended},
	}
	for i, first := range ranked {
		for _, other := range ranked[i+1:] {
			for _, job := range []*batchv1.Job{
				withConditions(yes(first.condition), yes(other.condition)),
				withConditions(yes(other.condition), yes(first.condition)),
			} {
				got := jobstatus.OutcomeOf(job)
				what := string(first.condition) + " and " + string(other.condition)
				same(t, what, got.Phase, first.phase)
				same(t, what+": decided", got.Decided(), true)
				same(t, what+": demand", jobstatus.DemandOf(job, nil), jobstatus.Demand{})
			}
		}
	}
}
