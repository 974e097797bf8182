package jobfate

import (
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
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

// String returns the metric as name{label="value"} with the number to add.
func (m Metric) String() string {
	var labels []string
	for _, l := range m.Labels {
		labels = append(labels, l.Name+"="+strconv.Quote(l.Value))
	}
	name := m.Name
	if len(labels) > 0 {
		name += "{" + strings.Join(labels, ",") + "}"
	}
	return name + " +" + strconv.FormatInt(m.Add, 10)
}

// metrics collects what to add, leaving out what adds nothing. No counter ever
// falls.
type metrics []Metric

func (m *metrics) add(n int, name string, labels ...Label) {
	if n > 0 {
		// A copy, so that labels that add nothing are not allocated.
		*m = append(*m, Metric{Name: name, Labels: slices.Clone(labels), Add: int64(n)})
	}
}

func (s *step) mode() string {
	if s.indexed {
		return string(batchv1.IndexedCompletion)
	}
	return string(batchv1.NonIndexedCompletion)
}

// podsFinished adds the pods and indexes by which one status is ahead of
// another.
func (m *metrics) podsFinished(s *step, old, next *batchv1.JobStatus, oldSets, nextSets indexSets) {
	succeeded := int(next.Succeeded) - int(old.Succeeded)
	if s.indexed {
		// After a Job has been scaled down its counter falls, and that of the
		// metric stays.
		succeeded = added(oldSets.completed, nextSets.completed)
		limit := Label{"backoffLimit", "global"}
		if s.perIndex {
			limit.Value = "perIndex"
		}
		m.add(succeeded, "job_finished_indexes_total", Label{"status", "succeeded"}, limit)
		m.add(added(oldSets.failed, nextSets.failed), "job_finished_indexes_total", Label{"status", "failed"}, limit)
	}
	mode := Label{"completion_mode", s.mode()}
	m.add(succeeded, "job_pods_finished_total", mode, Label{"result", "succeeded"})
	m.add(int(next.Failed)-int(old.Failed), "job_pods_finished_total", mode, Label{"result", "failed"})
}

type indexSets struct{ completed, failed indexset.Set }

// added is the number of indexes in next that are not in old.
func added(old, next indexset.Set) int { return next.Len() - next.IntersectionLen(old) }

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
func (m *metrics) created(s *step, succeeded, failed int) {
	reason := Label{"reason", s.creationReason()}
	m.add(succeeded, "job_pods_creation_total", reason, Label{"status", "succeeded"})
	m.add(failed, "job_pods_creation_total", reason, Label{"status", "failed"})
}

// creationReason says whether pods are new or replace others.
func (s *step) creationReason() string {
	// The policy that counts here is the one that is set. A Job with a pod
	// failure policy gets Failed as the default.
	failedOnly := s.policy != nil
	if replacement := s.job.Spec.PodReplacementPolicy; replacement != nil {
		failedOnly = *replacement == batchv1.Failed
	}
	switch {
	case s.noReplace:
		return "new"
	case failedOnly && s.failed > 0:
		return "recreate_failed"
	case s.failed > 0 || s.census.Terminating > 0:
		return "recreate_terminating_or_failed"
	}
	return "new"
}

func (m *metrics) finished(s *step, end jobstatus.End) {
	result := "failed"
	if end.Succeeds() {
		result = "succeeded"
	}
	// The names of rules are the users' to give, and would make series without end.
	reason := end.Reason
	if _, granular := failurepolicy.RuleOf(reason); granular {
		reason = batchv1.JobReasonPodFailurePolicy
	}
	m.add(1, "jobs_finished_total", Label{"completion_mode", s.mode()}, Label{"result", result}, Label{"reason", reason})
}
