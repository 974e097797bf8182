package decide

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Claim is a pod to adopt, to release, or to free of its finalizer.
type Claim struct {
	Pod *corev1.Pod
	// Action is one of the constants ClaimAdopt to ClaimFree.
	Action string
}

// The actions of a Claim.
const (
	// ClaimAdopt: the pod has no controller and matches the selector. The patch that adopts it also adds the finalizer.
	ClaimAdopt = "adopt"
	// ClaimRelease: the Job controls the pod, but its selector no longer matches it.
	ClaimRelease = "release"
	// ClaimFree: the pod has the finalizer, and no Job will count it.
	ClaimFree = "free"
)

// The causes of a Deletion.
const (
	// CauseJobEnds: the Job has an interim or terminal condition, and its remaining
	// pods are deleted. They keep their finalizer until they are counted.
	CauseJobEnds = "JobEnds"
	// CauseSuspended: the Job has been suspended.
	CauseSuspended = "Suspended"
	// CauseTooMany: more pods are active than the Job needs.
	CauseTooMany = "TooMany"
	// CauseDuplicate: the index has another pod, which is kept.
	CauseDuplicate = "DuplicateIndex"
	// CauseBeyond: the index is not below completions.
	CauseBeyond = "IndexBeyondCompletions"
	// CauseNoIndex: the pod of an Indexed Job has no valid index.
	CauseNoIndex = "NoIndex"
)

// Deletion is a pod to delete.
type Deletion struct {
	Pod *corev1.Pod
	// StripFirst says to remove the finalizer before the deletion, so that the
	// deletion does not count as a failure (KEP-2307 § Deleted Pods).
	StripFirst bool
	// Cause is one of the constants CauseJobEnds to CauseNoIndex.
	Cause string
}

// Creation is a pod to create.
type Creation struct {
	// Index is the completion index, or tracking.NoIndex.
	Index int32
	// Replaces is the failed pod that the new pod replaces, with its failure counts; nil when there
	// is none. Its finalizer is removed once the new pod is observed.
	Replaces *corev1.Pod
	// Failures and Ignored are the numbers of failures of the index so far that count towards backoffLimitPerIndex, and
	// of those that an Ignore rule excluded.
	Failures, Ignored int32

	from *blueprint
}

// Event is an event to record on the Job.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type    string
	Reason  string
	Message string
}

// Metric is an increment of a counter. The names and labels are those of the Job
// controller, without the subsystem prefix job_controller_.
type Metric struct {
	Name   string
	Labels map[string]string
	Add    int64
}

// String returns the metric as "name label=value 1".
func (m Metric) String() string {
	text := m.Name
	for _, label := range slices.Sorted(maps.Keys(m.Labels)) {
		text += " " + label + "=" + m.Labels[label]
	}
	return fmt.Sprint(text, " ", m.Add)
}
