package group_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/group"
)

// jobWith returns a Job with one condition.
func jobWith(typ batchv1.JobConditionType, reason, message string) *batchv1.Job {
	job := &batchv1.Job{}
	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuspended, Status: "False", Reason: "JobResumed"},
		{Type: typ, Status: "True", Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon)},
	}
	return job
}

func TestFailureOf(t *testing.T) {
	const message = "Container main for pod ns/train-0-x7k2p failed with exit code 42 matching FailJob rule at index 1"
	m := member("train-0", "train")
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		want group.Failure
	}{
		"the limit": {jobWith(batchv1.JobFailed, "BackoffLimitExceeded", "x"), group.Failure{Reason: "BackoffLimitExceeded", Message: "x"}},
		"a rule": {jobWith(batchv1.JobFailed, "PodFailurePolicy", message),
			group.Failure{Reason: "PodFailurePolicy", Message: message, RuleName: "1", Container: "main", ExitCode: 42}},
		"the first rule": {jobWith(batchv1.JobFailed, "PodFailurePolicy", "Pod ns/x failed matching FailJob rule at index 0"),
			group.Failure{Reason: "PodFailurePolicy", Message: "Pod ns/x failed matching FailJob rule at index 0", RuleName: "0"}},
		"a rule by name": {jobWith(batchv1.JobFailed, "PodFailurePolicy_Gpu", message),
			group.Failure{Reason: "PodFailurePolicy_Gpu", Message: message, RuleName: "Gpu", Container: "main", ExitCode: 42}},
		"a rule by position": {jobWith(batchv1.JobFailed, "PodFailurePolicy_1", message),
			group.Failure{Reason: "PodFailurePolicy_1", Message: message, RuleName: "1", Container: "main", ExitCode: 42}},
		"a rule that is not known": {jobWith(batchv1.JobFailed, "PodFailurePolicy", "x"), group.Failure{Reason: "PodFailurePolicy", Message: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Member, tc.want.Attempt, tc.want.At = m, 3, noon
			got, ok := group.FailureOf(tc.job, m, 3)
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
	inverted := jobWith(batchv1.JobFailed, "X", "")
	inverted.Status.Conditions[1].Status = "False"
	for name, job := range map[string]*batchv1.Job{"nil": nil, "empty": {}, "failing": jobWith(batchv1.JobFailureTarget, "X", ""),
		"complete": jobWith(batchv1.JobComplete, "X", ""), "not failed": inverted} {
		if got, ok := group.FailureOf(job, m, 0); ok || got != (group.Failure{}) {
			t.Errorf("%s: %+v, %v, want none", name, got, ok)
		}
	}
}
