package controllers

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

func TestExecuteFailurePolicySimultaneousFailures(t *testing.T) {
	failedAt := time.Now()
	first, second := jobWithFailedCondition("job1", failedAt), jobWithFailedCondition("job2", failedAt)
	for name, failedJobs := range map[string][]*batchv1.Job{
		"listed by name":          {first, second},
		"listed in another order": {second, first},
	} {
		t.Run(name, func(t *testing.T) {
			js := &jobset.JobSet{}
			assert.NoError(t, executeFailurePolicy(context.TODO(), js, &childJobs{failed: failedJobs}, &statusUpdateOpts{}))
			assert.Contains(t, js.Status.Conditions[0].Message, "first failed job: job1")
		})
	}
}

// The functions that the tests call, which are one now.

func findFirstFailedJob(jobs []*batchv1.Job) *batchv1.Job {
	_, job, _ := decideFailurePolicy(context.TODO(), &jobset.JobSet{}, jobs)
	return job
}

func findFirstFailedPolicyRuleAndJob(ctx context.Context, rules []jobset.FailurePolicyRule, jobs []*batchv1.Job) (*jobset.FailurePolicyRule, *batchv1.Job) {
	js := &jobset.JobSet{Spec: jobset.JobSetSpec{FailurePolicy: &jobset.FailurePolicy{Rules: rules}}}
	decision, job, _ := decideFailurePolicy(ctx, js, jobs)
	if decision.Rule < 0 || decision.Rule >= len(rules) {
		return nil, nil
	}
	return &rules[decision.Rule], job
}

func ruleIsApplicable(ctx context.Context, rule jobset.FailurePolicyRule, job *batchv1.Job, reason, message string) bool {
	rule.Action = jobset.FailJobSet
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: reason, Message: message}}
	_, failed := findFirstFailedPolicyRuleAndJob(ctx, []jobset.FailurePolicyRule{rule}, []*batchv1.Job{job})
	return failed != nil
}

func applyFailurePolicyRuleAction(ctx context.Context, js *jobset.JobSet, job *batchv1.Job, rule *jobset.FailurePolicyRule, opts *statusUpdateOpts, action jobset.FailurePolicyAction) error {
	if rule == nil && action != defaultFailurePolicyRuleAction {
		rule = &jobset.FailurePolicyRule{Action: action}
	}
	if rule != nil {
		js.Spec.FailurePolicy.Rules = []jobset.FailurePolicyRule{*rule}
	}
	return executeFailurePolicy(ctx, js, &childJobs{failed: []*batchv1.Job{job}}, opts)
}
