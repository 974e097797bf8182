package jobset_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/jobset"
)

// failedJob returns a Job of a set that has failed.
func failedJob(reason, message string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "set-workers-0", Labels: map[string]string{
			v1alpha2.ReplicatedJobNameKey: "workers", v1alpha2.JobIndexKey: "0",
		}},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, Message: message},
		}},
	}
}

// run applies the failure policy of a set to a failed Job. It also returns the last event.
func run(t *testing.T, set *v1alpha2.JobSet, job *batchv1.Job) (got jobset.Outcome, last string) {
	t.Helper()
	got, err := jobset.Run(set, []*batchv1.Job{job})
	if err != nil || len(got.Events) == 0 {
		t.Fatalf("%+v: events %v, error %v", job.Status, got.Events, err)
	}
	return got, got.Events[len(got.Events)-1]
}

// setWith returns a set of one Job whose failure policy has one rule.
func setWith(rule v1alpha2.FailurePolicyRule) *v1alpha2.JobSet {
	set := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
	set.Spec.ReplicatedJobs = []v1alpha2.ReplicatedJob{{Name: "workers", GroupName: "default", Replicas: 1}}
	set.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: 10, Rules: []v1alpha2.FailurePolicyRule{rule}}
	return set
}

func failJobSet(reasons, messages []string) v1alpha2.FailurePolicyRule {
	return v1alpha2.FailurePolicyRule{
		Name: "rule", Action: v1alpha2.FailJobSet, OnJobFailureReasons: reasons, OnJobFailureMessagePatterns: messages,
	}
}

// JobSet compares the reason of a failed Job as a string. So a reason that names the rule of a pod
// failure policy switches off the rules of the set that want PodFailurePolicy, and the default
// action restarts all Jobs. A rule on the message works with all reasons. The reasons and messages are
// those of stories.TestScripts, kep4443_names.txt.
func TestReasonsThatNameTheRule(t *testing.T) {
	const fail, restart = constants.FailJobSetActionReason, constants.RestartJobSetActionReason
	byReason, anyReason := failJobSet([]string{batchv1.JobReasonPodFailurePolicy}, nil), failJobSet(nil, nil)
	byMessage := failJobSet(nil, []string{"matching FailJob rule at index 0$"})
	for _, tc := range []struct {
		reason     string
		policyRule int
		rule       v1alpha2.FailurePolicyRule
		want       string
	}{
		{"PodFailurePolicy", 0, byReason, fail},
		{"PodFailurePolicy_X", 0, byReason, restart},
		{"PodFailurePolicy_0", 0, byReason, restart},
		{"PodFailurePolicy", 0, anyReason, fail},
		{"PodFailurePolicy_X", 0, anyReason, fail},
		{"PodFailurePolicy", 0, byMessage, fail},
		{"PodFailurePolicy_X", 0, byMessage, fail},
		{"PodFailurePolicy", 1, byMessage, restart},
		{"PodFailurePolicy_Y", 1, byMessage, restart},
	} {
		set := setWith(tc.rule)
		NoError(t, jobset.Validate(set))
		message := fmt.Sprint("Container main for pod ns/job-1 failed with exit code 2 matching FailJob rule at index ", tc.policyRule)
		got, last := run(t, set, failedJob(tc.reason, message))
		failed := got.Status.TerminalState == string(v1alpha2.JobSetFailed)
		if last != tc.want || failed != (tc.want == fail) || failed == (got.Status.Restarts == 1) {
			t.Errorf("%s, %s, rule %+v: JobSet sends the events %v, and the set is %q after %d restarts; want %s", tc.reason, message,
				tc.rule, got.Events, got.Status.TerminalState, got.Status.Restarts, tc.want)
		}
	}
}

// A set cannot name such a reason either: the webhook accepts only the reasons that Kubernetes has.
// So both stories of KEP-4443 are refused.
func TestWebhookRefusesReasonsThatNameTheRule(t *testing.T) {
	for _, reason := range []string{"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"} {
		if err := jobset.Validate(setWith(failJobSet([]string{reason}, nil))); err != nil {
			t.Errorf("%s is refused: %v", reason, err)
		}
	}
	for _, reason := range []string{"PodFailurePolicy_X", "PodFailurePolicy_0", "PodFailurePolicy_ExitCode2"} {
		want := "invalid job failure reason '" + reason + "'"
		if err := jobset.Validate(setWith(failJobSet([]string{reason}, nil))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", reason, err, want)
		}
	}
}
