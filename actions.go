package jobfate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/tracking"
)

// Claim is a pod to adopt, to release, or to free of its finalizer.
type Claim struct {
	Pod *corev1.Pod
	// Relation says which: Adoptable, Releasable or Orphaned.
	Relation tracking.Relation

	view *decide.View
}

// Patch returns the strategic merge patch that does it.
func (c Claim) Patch() []byte {
	if c.view == nil {
		return nil
	}
	return c.view.ClaimPatch(decide.Claim{Pod: c.Pod, Relation: c.Relation})
}

// Cause says why a pod is deleted.
type Cause string

const (
	// CauseJobEnds: the Job has been decided, and its remaining pods go. They
	// keep their finalizer until they are counted.
	CauseJobEnds = Cause(decide.CauseJobEnds)
	// CauseSuspended: the Job has been suspended.
	CauseSuspended = Cause(decide.CauseSuspended)
	// CauseTooMany: more pods are active than the Job needs.
	CauseTooMany = Cause(decide.CauseTooMany)
	// CauseDuplicate: another pod of the index is worth more.
	CauseDuplicate = Cause(decide.CauseDuplicate)
	// CauseBeyond: the index is not below completions.
	CauseBeyond = Cause(decide.CauseBeyond)
	// CauseNoIndex: the pod of an Indexed Job has no index that can be read.
	CauseNoIndex = Cause(decide.CauseNoIndex)
)

// Deletion is a pod to delete.
type Deletion struct {
	Pod *corev1.Pod
	// StripFirst says to remove the finalizer first, with Patch, so that the
	// deletion does not count as a failure (KEP-2307 § Deleted Pods).
	StripFirst bool
	Cause      Cause

	keys tracking.Keys
}

// Patch returns the patch that removes the finalizer before the deletion; nil
// when the pod keeps it. It names the resource version: a pod that has changed
// meanwhile may have finished, and then it is to be counted.
func (d Deletion) Patch() []byte {
	if !d.StripFirst {
		return nil
	}
	return d.keys.StripPatchAt(d.Pod)
}

// Options returns the options for the deletion, which name the pod's UID.
func (d Deletion) Options() metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(d.Pod.UID))}
}

// Event returns the event that tells of the deletion, or of the error that it
// met.
func (d Deletion) Event(err error) Event {
	if err != nil {
		return Event{Warning, "FailedDelete", "Error deleting: " + err.Error()}
	}
	return Event{Normal, "SuccessfulDelete", "Deleted pod: " + d.Pod.Name}
}

// Creation is a pod to create.
type Creation struct {
	// Index is the completion index, or tracking.NoIndex.
	Index int32
	// Replaces is the failed pod whose failure counts the new one takes over;
	// nil when there is none. Its finalizer goes once the new pod is seen.
	Replaces *corev1.Pod

	made decide.Creation
}

// Pod returns the complete object to create; its name is generated. Each call makes
// a new one, which the caller may change.
func (c Creation) Pod() *corev1.Pod { return c.made.Pod() }

// Event returns the event that tells of the creation of the pod with the given
// name, or of the error that it met.
func (c Creation) Event(name string, err error) Event {
	if err != nil {
		return Event{Warning, "FailedCreate", "Error creating: " + err.Error()}
	}
	return Event{Normal, "SuccessfulCreate", "Created pod: " + name}
}

// EventType is the type of an Event, as Kubernetes spells it.
type EventType string

const (
	// Normal events tell of what is as intended.
	Normal EventType = "Normal"
	// Warning events tell that something went wrong.
	Warning EventType = "Warning"
)

// Event is something to tell the user, on the Job.
type Event struct {
	Type    EventType
	Reason  string
	Message string
}
