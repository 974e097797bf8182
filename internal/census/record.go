package census

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/owner"
)

// Record is the classification of one pod. It never changes: classifying the pod again
// makes another Record. It takes 48 bytes.
type Record struct {
	Pod *corev1.Pod
	// start holds the first eight bytes of the UID. Sorting 10^5 pods would take several
	// times as long if it had to follow two pointers to a UID in each comparison.
	start uint64
	// Index is the completion index of an Indexed Job's pod, or keys.NoIndex. An
	// index above the largest int32 is read as the largest int32.
	Index int32
	// Counts are the pod's failure counts. They are set for failed pods of Jobs with a
	// backoff limit per index.
	Counts keys.Counts
	// Relation is the relation of the pod to the Job. Only pods that the Job owns or
	// adopts are classified further.
	Relation owner.Relation

	// Active pods have not terminated and are not being deleted. Ready pods are active
	// and have the Ready condition.
	Active, Ready bool
	// Terminating pods are being deleted and have not terminated yet.
	Terminating bool
	// Succeeded and Failed say how the pod counts. For a listed pod, the list decides
	// and not the phase. A pod that is being deleted counts as failed before it has
	// terminated, unless ReplaceFailedOnly is set.
	Succeeded, Failed bool
	// Finalized pods carry the tracking finalizer in the snapshot. Tracked pods are
	// finalized, and their finalizer has not been removed since.
	Finalized, Tracked bool
	// Listed pods have their UID in one of the uncounted lists.
	Listed bool
	// Valid pods can count: in an Indexed Job, their index is below completions.
	Valid bool
	// Exhausted failed pods have used up the backoff limit of their index.
	Exhausted bool
	// match is the rule that a failed pod matches, without the name of the pod; nil if no
	// rule matches. Records share it.
	match *failurepolicy.Match
}

// Match returns the rule that a failed pod matches. It is decided when the pod is
// classified; everything that depends on it reads it here.
func (r *Record) Match() failurepolicy.Match {
	if r.match == nil {
		return failurepolicy.Match{Rule: -1}
	}
	match := *r.match
	match.Pod = types.NamespacedName{Namespace: r.Pod.Namespace, Name: r.Pod.Name}
	return match
}

// Action returns the action of that rule; empty if no rule matches.
func (r *Record) Action() batchv1.PodFailurePolicyAction {
	if r.match == nil {
		return ""
	}
	return r.match.Action
}

// Ignored reports whether the failure of the pod does not count.
func (r *Record) Ignored() bool { return r.Action() == batchv1.PodFailurePolicyActionIgnore }

// FailsJob reports whether the failure of the pod fails the Job.
func (r *Record) FailsJob() bool { return r.Action() == batchv1.PodFailurePolicyActionFailJob }

// FailsIndex reports whether the failure of the pod fails its index, by a FailIndex rule or
// by the limit (KEP-3850 § Tracking the number of failures per index). The Job controller
// acts on it only while the pod carries the finalizer.
func (r *Record) FailsIndex() bool {
	return r.Action() == batchv1.PodFailurePolicyActionFailIndex || r.Exhausted && !r.Ignored()
}

// Finish returns when the pod finished, if it counts as succeeded or failed.
func (r *Record) Finish() time.Time { return backoff.FinishTime(r.Pod).UTC() }

// own reports whether the Job owns or adopts the pod.
func (r *Record) own() bool { return r.Relation == owner.Owned || r.Relation == owner.Adoptable }

// isUnrecorded reports whether a status has yet to record the pod once it has finished.
func (r *Record) isUnrecorded() bool { return r.Tracked && r.Valid && !r.Listed }

// replaceable reports whether a new pod may take over the failures of this one.
func (r *Record) replaceable() bool { return r.Failed && r.Tracked && r.Valid }

// compare is the order of a Job's pods in every decision: by index, then by UID.
func (r *Record) compare(o *Record) int {
	if r.Index != o.Index {
		return cmp.Compare(r.Index, o.Index)
	}
	return byUID(r, o)
}

// byUID compares UIDs.
func byUID(r, o *Record) int {
	if r.start != o.start {
		return cmp.Compare(r.start, o.start)
	}
	return cmp.Compare(r.Pod.UID, o.Pod.UID)
}

// Before reports whether a pod comes before another, by index and then by UID.
func (r *Record) Before(o *Record) bool { return r.compare(o) < 0 }

// CompareFailures orders failed pods by index, failures, finish time and UID. The last pod
// of an index is the one that the next pod of the index replaces.
func (r *Record) CompareFailures(o *Record) int {
	if c := cmp.Or(cmp.Compare(r.Index, o.Index), r.Counts.Compare(o.Counts)); c != 0 {
		return c
	}
	return cmp.Or(r.Finish().Compare(o.Finish()), byUID(r, o))
}
