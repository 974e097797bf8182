package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// metrics collects the increments that are above zero. A counter never falls.
type metrics []Metric

// add adds an increment. labels are names, each followed by its value.
func (m *metrics) add(n int, name string, labels ...string) {
	if n <= 0 {
		return
	}
	all := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		all[labels[i]] = labels[i+1]
	}
	*m = append(*m, Metric{name, all, int64(n)})
}

func (s *state) mode() string {
	return string(valueOf(s.Job.Spec.CompletionMode, batchv1.NonIndexedCompletion))
}

// indexesFinished adds the indexes that have completed or failed since the status was stored.
func (m *metrics) indexesFinished(s *state) {
	// When a Job is scaled down, status.succeeded may fall, but the metric must not. So the sets
	// are compared, not the counters.
	results, failed := &s.census.Results, s.stored.failed.indexes()
	succeeded := results.Completed.Len() - s.census.Counted().Len() // no index is ever removed
	limit := "global"
	if s.spec.PerIndex() {
		limit = "perIndex"
	}
	m.add(succeeded, "job_finished_indexes_total", "status", "succeeded", "backoffLimit", limit)
	if !results.Failed.Equal(failed) {
		m.add(results.Failed.Len()-results.Failed.IntersectionLen(failed), "job_finished_indexes_total",
			"status", "failed", "backoffLimit", limit)
	}
	m.add(succeeded, "job_pods_finished_total", "completion_mode", s.mode(), "result", "succeeded")
}

// podsFinished adds the pods that next counts and old does not. The succeeded pods of an
// Indexed Job are those of its indexes.
func (m *metrics) podsFinished(s *state, old, next *batchv1.JobStatus) {
	if !s.spec.Indexed {
		m.add(int(next.Succeeded)-int(old.Succeeded), "job_pods_finished_total", "completion_mode", s.mode(),
			"result", "succeeded")
	}
	m.add(int(next.Failed)-int(old.Failed), "job_pods_finished_total", "completion_mode", s.mode(), "result", "failed")
}

// handled adds the failures by the action of the rule that they match.
func (m *metrics) handled(byAction map[batchv1.PodFailurePolicyAction]int) {
	for _, action := range [...]batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount,
	} {
		m.add(byAction[action], "pod_failures_handled_by_failure_policy_total", "action", string(action))
	}
}

// created adds the pods that were created and the creations that failed.
func (m *metrics) created(s *state, succeeded, failed int) {
	reason := s.creationReason()
	m.add(succeeded, "job_pods_creation_total", "reason", reason, "status", "succeeded")
	m.add(failed, "job_pods_creation_total", "reason", reason, "status", "failed")
}

// creationReason returns the label that says whether created pods are new or replace
// others.
func (s *state) creationReason() string {
	// The label depends on the policy that the spec sets. With a pod failure policy the
	// default is Failed.
	replacement := batchv1.TerminatingOrFailed
	if s.spec.Policy != nil {
		replacement = batchv1.Failed
	}
	replacement = valueOf(s.Job.Spec.PodReplacementPolicy, replacement)
	switch {
	case s.config.WithoutReplacement, s.failed == 0 && s.census.Terminating == 0:
		return "new"
	case replacement == batchv1.Failed && s.failed > 0:
		return "recreate_failed"
	}
	return "recreate_terminating_or_failed"
}

func (m *metrics) finished(s *state, end lifecycle.End) {
	result := "failed"
	if end.Succeeds() {
		result = "succeeded"
	}
	// Users choose the names of rules, so a label with the name would create an
	// unbounded number of series.
	reason := end.Reason
	if _, granular := failurepolicy.RuleOf(reason, ""); granular {
		reason = batchv1.JobReasonPodFailurePolicy
	}
	m.add(1, "jobs_finished_total", "completion_mode", s.mode(), "result", result, "reason", reason)
}
