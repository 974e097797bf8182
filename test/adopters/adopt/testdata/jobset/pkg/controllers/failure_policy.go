package controllers

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/constants"
	"sigs.k8s.io/jobset/pkg/features"
)

// maxRestarts is the budget of all restarts that count towards the maximum.
const maxRestarts = "maxRestarts"

// failurePolicyActions relates the actions of failure policies to the reason and message of their events, and to
// steps.
var failurePolicyActions = map[jobset.FailurePolicyAction]struct {
	reason, message string
	step            group.Step
}{
	jobset.FailJobSet: {constants.FailJobSetActionReason, constants.FailJobSetActionMessage,
		group.Step{Action: group.FailGroup}},
	jobset.RestartJobSet: {constants.RestartJobSetActionReason, constants.RestartJobSetActionMessage,
		group.Step{Action: group.RestartGroup, Charges: []string{maxRestarts}}},
	jobset.RestartJobSetAndIgnoreMaxRestarts: {constants.RestartJobSetAndIgnoreMaxRestartsActionReason,
		constants.RestartJobSetAndIgnoreMaxRestartsActionMessage, group.Step{Action: group.RestartGroup}},
	jobset.RestartJob: {constants.RestartJobActionReason, constants.RestartJobActionMessage,
		group.Step{Action: group.RestartMember, Charges: []string{maxRestarts}}},
	jobset.RestartJobAndIgnoreMaxRestarts: {constants.RestartJobAndIgnoreMaxRestartsActionReason,
		constants.RestartJobAndIgnoreMaxRestartsActionMessage, group.Step{Action: group.RestartMember}},
}

// executeFailurePolicy applies the failure policy of a JobSet. At least one of the Jobs has failed.
func executeFailurePolicy(ctx context.Context, js *jobset.JobSet, ownedJobs *childJobs, updateStatusOpts *statusUpdateOpts) error {
	decision, job, err := decideFailurePolicy(ctx, js, ownedJobs.failed)
	if err != nil {
		return err
	}
	if js.Spec.FailurePolicy == nil {
		setJobSetFailedCondition(js, constants.FailedJobsReason, messageWithFirstFailedJob(constants.FailedJobsMessage, job.Name), updateStatusOpts)
		return nil
	}
	name, cause := defaultFailurePolicyRuleAction, constants.RestartingJobSetReasonDefaultFailurePolicy
	if rules := js.Spec.FailurePolicy.Rules; decision.Rule < len(rules) {
		name, cause = rules[decision.Rule].Action, fmt.Sprintf(constants.RestartingJobSetReasonFailurePolicyFormat, rules[decision.Rule].Name)
	}
	action := failurePolicyActions[name]
	message := messageWithFirstFailedJob(action.message, job.Name)
	event := &eventParams{object: js, eventType: corev1.EventTypeWarning, eventReason: action.reason, eventMessage: message}
	counts := len(action.step.Charges) > 0
	switch {
	case action.step.Action == group.RestartMember && !features.Enabled(features.RestartJob):
		return fmt.Errorf("%s failure policy action cannot be used when the feature gate RestartJob is disabled", name)
	case decision.Step < 0:
		setJobSetFailedCondition(js, constants.ReachedMaxRestartsReason, messageWithFirstFailedJob(constants.ReachedMaxRestartsMessage, job.Name), updateStatusOpts)
	case decision.Action == group.FailGroup:
		setJobSetFailedCondition(js, action.reason, message, updateStatusOpts)
	case decision.Action == group.RestartMember:
		return failurePolicyRecreateJob(ctx, js, job, counts, updateStatusOpts, event)
	default:
		failurePolicyRecreateAll(ctx, js, counts, updateStatusOpts, event, &conditionOpts{
			eventType: corev1.EventTypeWarning,
			condition: &metav1.Condition{Type: string(jobset.JobSetRestarting), Status: metav1.ConditionTrue, Reason: cause, Message: message},
		})
	}
	return nil
}

// decideFailurePolicy returns the decision about the first failed Job that decides, and that Job. The position of the
// rule is that of js.Spec.FailurePolicy, or behind them for the default.
func decideFailurePolicy(ctx context.Context, js *jobset.JobSet, failedJobs []*batchv1.Job) (group.Decision, *batchv1.Job, error) {
	policy, state, byName := &group.Policy{}, group.State{}, map[string]*batchv1.Job{}
	if p := js.Spec.FailurePolicy; p != nil {
		used := js.Status.RestartsCountTowardsMax
		if features.Enabled(features.RestartJob) {
			used = totalRestartsCountTowardsMax(js)
		}
		policy.Budgets = []group.Budget{{Name: maxRestarts, Max: p.MaxRestarts}}
		policy.Rules = failurePolicyRules(p.Rules)
		state.Group.Used = map[string]group.Use{maxRestarts: {Count: used}}
	}
	var failures []group.Failure
	for _, job := range failedJobs {
		parent, _ := parentReplicatedJobName(job)
		if failure, failed := jobs.FailureOf(job, group.Member{Name: job.Name, Template: parent}, 0); failed {
			failures, byName[job.Name] = append(failures, failure), job
		}
	}
	policy, dropped := policy.Lenient(field.NewPath("spec", "failurePolicy")) // the webhook accepts any pattern
	for _, err := range dropped {
		ctrl.LoggerFrom(ctx).Error(err, "a part of the failure policy never applies")
	}
	decision, err := group.Decide(policy, state, failures, time.Now())
	return decision, byName[decision.Failure.Name], err
}

// failurePolicyRules returns rules, and the default behind them. What is behind a rule for all failures never applies.
func failurePolicyRules(rules []jobset.FailurePolicyRule) (all []group.Rule) {
	for _, rule := range rules {
		all = append(all, group.Rule{OnReasons: rule.OnJobFailureReasons, OnMessagePatterns: rule.OnJobFailureMessagePatterns,
			Templates: rule.TargetReplicatedJobs, Steps: []group.Step{failurePolicyActions[rule.Action].step}})
		if len(rule.OnJobFailureReasons)+len(rule.OnJobFailureMessagePatterns)+len(rule.TargetReplicatedJobs) == 0 {
			return all
		}
	}
	return append(all, group.Rule{Steps: []group.Step{failurePolicyActions[defaultFailurePolicyRuleAction].step}})
}
