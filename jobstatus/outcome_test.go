package jobstatus_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
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
		{"no conditions", WithConditions(), jobstatus.Running, false, false},
		{"suspended", WithConditions(Yes(batchv1.JobSuspended)), jobstatus.Suspended, false, false},
		{"resumed", WithConditions(No(batchv1.JobSuspended)), jobstatus.Running, false, false},
		{"failing", WithConditions(Yes(batchv1.JobFailureTarget)), jobstatus.Failing, true, false},
		{"succeeding", WithConditions(Yes(batchv1.JobSuccessCriteriaMet)), jobstatus.Succeeding, true, false},
		{"failed", WithConditions(Yes(batchv1.JobFailureTarget), Yes(batchv1.JobFailed)), jobstatus.Failed, true, true},
		{"complete", WithConditions(Yes(batchv1.JobSuccessCriteriaMet), Yes(batchv1.JobComplete)), jobstatus.Complete, true, true},
		{"complete while it was suspended", WithConditions(Yes(batchv1.JobSuspended), Yes(batchv1.JobComplete)), jobstatus.Complete, true, true},
		{"both", WithConditions(Yes(batchv1.JobComplete), Yes(batchv1.JobFailed)), jobstatus.Failed, true, true},
	} {
		got := jobstatus.OutcomeOf(tc.job)
		Same(t, tc.reason, got.Phase, tc.want)
		Same(t, tc.reason+": decided", got.Decided(), tc.decided)
		Same(t, tc.reason+": terminal", got.Terminal(), tc.terminal)
	}
	got := jobstatus.OutcomeOf(WithConditions(Yes(batchv1.JobFailed)))
	Same(t, "outcome", got, jobstatus.Outcome{Phase: jobstatus.Failed, Reason: "FailedReason", Message: "Failed message", Since: After(-9).Time})
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
				WithConditions(Yes(first.condition), Yes(other.condition)),
				WithConditions(Yes(other.condition), Yes(first.condition)),
			} {
				got := jobstatus.OutcomeOf(job)
				what := string(first.condition) + " and " + string(other.condition)
				Same(t, what, got.Phase, first.phase)
				Same(t, what+": decided", got.Decided(), true)
				Same(t, what+": demand", jobstatus.DemandOf(job), jobstatus.Demand{})
			}
		}
	}
}
