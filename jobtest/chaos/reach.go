package chaos

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
)

// policy is a feature that a Job may use.
type policy struct {
	name string
	has  func(*batchv1.JobSpec) bool
}

var policies = [...]policy{
	{"NonIndexed", func(s *batchv1.JobSpec) bool { return !jobstatus.IsIndexed(s) && s.Completions != nil }},
	{"work queue", func(s *batchv1.JobSpec) bool { return s.Completions == nil }},
	{"Indexed", jobstatus.IsIndexed},
	{"elastic", func(s *batchv1.JobSpec) bool {
		return jobstatus.IsIndexed(s) && *s.Completions == *s.Parallelism
	}},
	{"per index", func(s *batchv1.JobSpec) bool { return s.BackoffLimitPerIndex != nil }},
	{"maxFailedIndexes", func(s *batchv1.JobSpec) bool { return s.MaxFailedIndexes != nil }},
	{"Ignore", hasRule(batchv1.PodFailurePolicyActionIgnore)},
	{"Count", hasRule(batchv1.PodFailurePolicyActionCount)},
	{"FailJob", hasRule(batchv1.PodFailurePolicyActionFailJob)},
	{"FailIndex", hasRule(batchv1.PodFailurePolicyActionFailIndex)},
	{"success policy", func(s *batchv1.JobSpec) bool { return s.SuccessPolicy != nil }},
	{"replaces failed", func(s *batchv1.JobSpec) bool { return *s.PodReplacementPolicy == batchv1.Failed }},
	{"replaces terminating",
		func(s *batchv1.JobSpec) bool { return *s.PodReplacementPolicy == batchv1.TerminatingOrFailed }},
	{"suspended", func(s *batchv1.JobSpec) bool { return *s.Suspend }},
	{"deadline", func(s *batchv1.JobSpec) bool { return s.ActiveDeadlineSeconds != nil }},
	{"OnFailure", func(s *batchv1.JobSpec) bool {
		return s.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
	}},
	{verdictPending, func(*batchv1.JobSpec) bool { return false }},
}

// verdictPending is counted like a feature of the Job: a controller has decided how the Job ends, and has
// pods to delete for that, but no interim condition is stored.
const verdictPending = "verdict pending"

// deletionLost is counted like an action, for a pending verdict: the cache of the controller lacks a
// deletion that had no answer.
const deletionLost = "a lost deletion is not observed"

func hasRule(action batchv1.PodFailurePolicyAction) func(*batchv1.JobSpec) bool {
	return func(s *batchv1.JobSpec) bool {
		return s.PodFailurePolicy != nil && slices.ContainsFunc(s.PodFailurePolicy.Rules,
			func(r batchv1.PodFailurePolicyRule) bool { return r.Action == action })
	}
}

// maxActions is the maximum number of actions and faults.
const maxActions = 80

// Reach counts how often each action and each fault occurred with each policy; see Pairs.
type Reach struct {
	counts [maxActions][len(policies)]int
}

// Add adds the counts of another run.
func (r *Reach) Add(o *Reach) {
	for i := range r.counts {
		for j := range r.counts[i] {
			r.counts[i][j] += o.counts[i][j]
		}
	}
}

// Pair is an action or a fault, a policy, and how often they occurred together.
type Pair struct {
	Event, Policy string
	Times         int
}

// Pairs returns all pairs, including those that never occurred together.
func (r *Reach) Pairs() []Pair {
	var all []Pair
	for i, event := range events() {
		for j := range policies {
			all = append(all, Pair{event, policies[j].name, r.counts[i][j]})
		}
	}
	return all
}

// events returns the names of all actions and faults.
func events() []string {
	var names []string
	for i := range actions {
		names = append(names, actions[i].Name)
	}
	for i := range driver.Faults {
		names = append(names, driver.Faults[i].Name)
	}
	return append(names, deletionLost)
}
