package jobset_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/jobset"
)

// failedBy returns a Job of a set, run by jobfate with some options, whose pod has matched the rule
// of its pod failure policy with this index. It has two rules: exit codes 2 and 3 fail the Job.
func failedBy(t *testing.T, rule int32, options ...decide.Option) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "set-workers-0", Labels: map[string]string{
		v1alpha2.ReplicatedJobNameKey: "workers", v1alpha2.JobIndexKey: "0",
	}}}
	job.Spec = batchv1.JobSpec{
		Completions: new(int32(1)), Parallelism: new(int32(1)), BackoffLimit: new(int32), PodFailurePolicy: &batchv1.PodFailurePolicy{},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "image"}},
		}},
	}
	for _, code := range []int32{2, 3} {
		job.Spec.PodFailurePolicy.Rules = append(job.Spec.PodFailurePolicy.Rules, batchv1.PodFailurePolicyRule{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}},
		})
	}
	c, err := cluster.New(job, time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	caller, cache := cluster.NewCaller(options...), c.NewCache(true)
	for range 3 {
		c.Run(caller, cache)
		for _, pod := range c.Pods() {
			c.End(pod.UID, 2+rule)
		}
		c.Now = c.Now.Add(time.Second)
	}
	return c.Job()
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
// action restarts all Jobs. A rule on the message works with all reasons.
func TestReasonsThatNameTheRule(t *testing.T) {
	const fail, restart = constants.FailJobSetActionReason, constants.RestartJobSetActionReason
	byReason := failJobSet([]string{batchv1.JobReasonPodFailurePolicy}, nil)
	byMessage := failJobSet(nil, []string{"matching FailJob rule at index 0$"})
	named, granular := []decide.Option{decide.RuleNames("X", "Y")}, []decide.Option{decide.GranularReasons()}
	for _, tc := range []struct {
		name       string
		options    []decide.Option
		policyRule int32
		rule       v1alpha2.FailurePolicyRule
		reason     string
		want       string
	}{
		{"without names", nil, 0, byReason, "PodFailurePolicy", fail},
		{"with names", named, 0, byReason, "PodFailurePolicy_X", restart},
		{"with granular reasons", granular, 0, byReason, "PodFailurePolicy_0", restart},
		{"without names, any reason", nil, 0, failJobSet(nil, nil), "PodFailurePolicy", fail},
		{"with names, any reason", named, 0, failJobSet(nil, nil), "PodFailurePolicy_X", fail},
		{"without names, by message", nil, 0, byMessage, "PodFailurePolicy", fail},
		{"with names, by message", named, 0, byMessage, "PodFailurePolicy_X", fail},
		{"without names, by the message of another rule", nil, 1, byMessage, "PodFailurePolicy", restart},
		{"with names, by the message of another rule", named, 1, byMessage, "PodFailurePolicy_Y", restart},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := failedBy(t, tc.policyRule, tc.options...)
			if i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed }); i < 0 || job.Status.Conditions[i].Reason != tc.reason {
				t.Fatalf("the conditions of the Job are %+v, want Failed with the reason %s", job.Status.Conditions, tc.reason)
			}
			set := setWith(tc.rule)
			if err := jobset.Validate(set); err != nil {
				t.Fatal(err)
			}
			got, err := jobset.Run(set, []*batchv1.Job{job})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Events) == 0 || got.Events[len(got.Events)-1] != tc.want {
				t.Errorf("JobSet sends the events %v, want %s as the last one", got.Events, tc.want)
			}
			if failed := got.Status.TerminalState == string(v1alpha2.JobSetFailed); failed != (tc.want == fail) || failed == (got.Status.Restarts == 1) {
				t.Errorf("the set is %q after %d restarts, want %s", got.Status.TerminalState, got.Status.Restarts, tc.want)
			}
		})
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

// Run changes neither the set nor the Jobs.
func TestRunKeepsItsInput(t *testing.T) {
	set, job := setWith(failJobSet(nil, nil)), failedBy(t, 0)
	wantSet, wantJob := set.DeepCopy(), job.DeepCopy()
	if _, err := jobset.Run(set, []*batchv1.Job{job}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(set, wantSet) || !reflect.DeepEqual(job, wantJob) {
		t.Error("Run has changed its input")
	}
}
