package decide

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/tracking"
)

// Claim is a pod to adopt, to release, or to free of its finalizer.
type Claim struct {
	Pod *corev1.Pod
	// Relation says which: Adoptable, Releasable or Orphaned.
	Relation tracking.Relation
}

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

	counts tracking.Counts // the failures of the index so far
	from   *blueprint
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
