package classify

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
)

// PodRecord is the classification of one version of a pod.
type PodRecord struct {
	Pod *corev1.Pod
	// Class says how the pod counts. Records of many pods share it.
	*Class
	// Index is the completion index of an Indexed Job's pod, or -1 without a valid one. An index above
	// the largest int32 is read as the largest int32.
	Index int32
}

// Class is what the records of all pods in the same state have in common.
type Class struct {
	// match is the rule that a failed pod matches, without the name of the pod; nil if no
	// rule matches. Classes share it.
	match *failurepolicy.Match
	// Counts holds the pod's failure counts. They are set for failed pods of Jobs with a
	// backoff limit per index.
	Counts Counts
	// Relation is the relation of the pod to the Job. Only pods that the Job owns or
	// adopts are classified further.
	Relation Relation

	// Active pods have not terminated and are not being deleted. Ready pods are active
	// and have the Ready condition.
	Active, Ready bool
	// Terminating pods are being deleted and have not terminated yet. Lost pods would be among
	// them, but count as failed, as with the phase Failed ([Classifier.UntilLost]).
	Terminating, Lost bool
	// Succeeded and Failed say how the pod counts. For a listed pod, the list decides
	// and not the phase. A pod that is being deleted counts as failed before it has
	// terminated, unless only pods with the phase Failed are replaced.
	Succeeded, Failed bool
	// Finalized pods carry the tracking finalizer in the snapshot. Tracked pods are
	// finalized, and their finalizer has not been removed since.
	Finalized, Tracked bool
	// Listed pods have their UID in one of the uncounted lists of the status.
	Listed bool
	// Valid pods can count: in an Indexed Job, their index is below completions.
	Valid bool
	// Exhausted failed pods have used up the backoff limit of their index.
	Exhausted bool
}

// Match returns the rule that a failed pod matches. It is decided when the pod is
// classified; everything that depends on it reads it here.
func (r *PodRecord) Match() failurepolicy.Match {
	if r.match == nil {
		return failurepolicy.Match{Rule: -1}
	}
	match := *r.match
	match.Pod = types.NamespacedName{Namespace: r.Pod.Namespace, Name: r.Pod.Name}
	return match
}

// Action returns the action of the rule that a failed pod matches; empty if no rule matches.
func (r *PodRecord) Action() batchv1.PodFailurePolicyAction {
	if r.match == nil {
		return ""
	}
	return r.match.Action
}

// Ignored reports whether the failure of the pod does not count.
func (r *PodRecord) Ignored() bool { return r.Action() == batchv1.PodFailurePolicyActionIgnore }

// FailsJob reports whether the failure of the pod fails the Job.
func (r *PodRecord) FailsJob() bool { return r.Action() == batchv1.PodFailurePolicyActionFailJob }

// FailsIndex reports whether the failure of the pod fails its index, by a FailIndex rule or
// by the limit (KEP-3850 § Tracking the number of failures per index). The Job controller
// acts on it only while the pod carries the finalizer.
func (r *PodRecord) FailsIndex() bool {
	return r.Action() == batchv1.PodFailurePolicyActionFailIndex || r.Exhausted && !r.Ignored()
}

// Finish returns when the pod finished, if it counts as succeeded or failed.
func (r *PodRecord) Finish() time.Time { return backoff.FinishTime(r.Pod).UTC() }

// CompareFailures orders the failed pods of an index by failures, finish time and UID. The next
// pod of the index replaces the last of them.
func (r *PodRecord) CompareFailures(o *PodRecord) int {
	if c := r.Counts.Compare(o.Counts); c != 0 {
		return c
	}
	return cmp.Or(r.Finish().Compare(o.Finish()), cmp.Compare(r.Pod.UID, o.Pod.UID))
}
