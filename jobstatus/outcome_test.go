package jobstatus_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

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

// slowOutcome tries one phase after the other.
func slowOutcome(conditions []batchv1.JobCondition) (phase string, from *batchv1.JobCondition) {
	for _, step := range [][2]string{
		{"Failed", "Failed"}, {"Complete", "Complete"}, {"SuccessCriteriaMet", "Succeeding"}, {"FailureTarget", "Failing"}, {"Suspended", "Suspended"},
	} {
		for i, c := range conditions {
			if string(c.Type) == step[0] && string(c.Status) == "True" {
				return step[1], &conditions[i]
			}
		}
	}
	return "Running", &batchv1.JobCondition{}
}

func TestRandom_outcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := withConditions(drawConditions(t)...)
		phase, from := slowOutcome(job.Status.Conditions)
		got := jobstatus.OutcomeOf(job)
		same(t, "outcome", got, jobstatus.Outcome{
			Phase: jobstatus.Phase(phase), Reason: from.Reason, Message: from.Message, Since: from.LastTransitionTime.Time,
		})
		same(t, "finished", jobstatus.Finished(job) != nil, got.Terminal())
	})
}
