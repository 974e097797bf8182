package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Metric is what to add to a counter. The names and labels are those of the Job
// controller, without the prefix job_controller_ of its subsystem.
type Metric struct {
	Name   string
	Labels []Label
	Add    int64
}

// Label is a label of a metric.
type Label struct{ Name, Value string }

// metrics collects what to add, leaving out what adds nothing. No counter ever
// falls.
type metrics []Metric

func (m *metrics) add(n int, name string, labels ...Label) {
	if n > 0 {
		// A copy, so that labels that add nothing are not allocated.
		*m = append(*m, Metric{Name: name, Labels: slices.Clone(labels), Add: int64(n)})
	}
}

func (v *View) mode() string {
	if v.Spec.Indexed {
		return string(batchv1.IndexedCompletion)
	}
	return string(batchv1.NonIndexedCompletion)
}

// podsFinished adds the pods and indexes by which one status is ahead of
// another.
func (m *metrics) podsFinished(v *View, old, next *batchv1.JobStatus, oldSets, nextSets indexSets) {
	succeeded := int(next.Succeeded) - int(old.Succeeded)
	if v.Spec.Indexed {
		// After a Job has been scaled down its counter falls, and that of the
		// metric stays.
		succeeded = nextSets.completed.Len() - oldSets.completed.Len() // none is taken out
		limit := Label{"backoffLimit", "global"}
		if v.Spec.PerIndex {
			limit.Value = "perIndex"
		}
		m.add(succeeded, "job_finished_indexes_total", Label{"status", "succeeded"}, limit)
		m.add(added(oldSets.failed, nextSets.failed), "job_finished_indexes_total", Label{"status", "failed"}, limit)
	}
	mode := Label{"completion_mode", v.mode()}
	m.add(succeeded, "job_pods_finished_total", mode, Label{"result", "succeeded"})
	m.add(int(next.Failed)-int(old.Failed), "job_pods_finished_total", mode, Label{"result", "failed"})
}

type indexSets struct{ completed, failed indexset.Set }

// added is the number of indexes in next that are not in old.
func added(old, next indexset.Set) int {
	if next.Equal(old) {
		return 0
	}
	return next.Len() - next.IntersectionLen(old)
}

// actions are those of the pod failure policy, in the order in which the API
// lists them.
var actions = [...]batchv1.PodFailurePolicyAction{
	batchv1.PodFailurePolicyActionFailJob,
	batchv1.PodFailurePolicyActionFailIndex,
	batchv1.PodFailurePolicyActionIgnore,
	batchv1.PodFailurePolicyActionCount,
}

func (m *metrics) handled(byAction map[batchv1.PodFailurePolicyAction]int) {
	for _, action := range actions {
		m.add(byAction[action], "pod_failures_handled_by_failure_policy_total", Label{"action", string(action)})
	}
}

// created adds the pods that were created and those that could not be.
func (m *metrics) created(v *View, succeeded, failed int) {
	reason := Label{"reason", v.creationReason()}
	m.add(succeeded, "job_pods_creation_total", reason, Label{"status", "succeeded"})
	m.add(failed, "job_pods_creation_total", reason, Label{"status", "failed"})
}

// creationReason says whether pods are new or replace others.
func (v *View) creationReason() string {
	// The policy that counts here is the one that is set. A Job with a pod
	// failure policy gets Failed as the default.
	failedOnly := v.Spec.Policy != nil
	if replacement := v.Job.Spec.PodReplacementPolicy; replacement != nil {
		failedOnly = *replacement == batchv1.Failed
	}
	switch {
	case v.Config.WithoutReplacement:
		return "new"
	case failedOnly && v.Totals.Failed > 0:
		return "recreate_failed"
	case v.Totals.Failed > 0 || v.Census.Terminating > 0:
		return "recreate_terminating_or_failed"
	}
	return "new"
}

func (m *metrics) finished(v *View, end lifecycle.End) {
	result := "failed"
	if end.Succeeds() {
		result = "succeeded"
	}
	// The names of rules are the users' to give, and would make series without end.
	reason := end.Reason
	if _, granular := failurepolicy.RuleOf(reason, ""); granular {
		reason = batchv1.JobReasonPodFailurePolicy
	}
	m.add(1, "jobs_finished_total", Label{"completion_mode", v.mode()}, Label{"result", result}, Label{"reason", reason})
}
