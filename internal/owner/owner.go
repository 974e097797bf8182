// Package owner decides which pods belong to a Job.
//
// The package knows no status and no counts of a Job: only its identity, and one pod at a
// time.
package owner

import (
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Relation is the relation of a pod to a Job.
type Relation uint8

const (
	// Foreign pods have another controller or no relation to the Job. The Job never
	// changes them.
	Foreign Relation = iota
	// Owned pods are controlled by the Job and match its selector.
	Owned
	// Adoptable pods have no controller and match the selector: the Job adopts
	// them, and adds the finalizer in the same patch. A Job that is being deleted
	// or has ended adopts none.
	Adoptable
	// Releasable pods are controlled by the Job and no longer match its selector.
	Releasable
	// Orphaned pods match the selector, have no controller, must not be adopted, and
	// still carry the finalizer, which no other controller will remove. Pods that a
	// finished Job controls but no longer selects are orphaned too, if they carry the
	// finalizer. They are not released, because garbage collection needs the owner
	// reference.
	Orphaned
)

var relationNames = [...]string{"foreign", "owned", "adoptable", "releasable", "orphaned"}

// String names the relation.
func (r Relation) String() string {
	if int(r) < len(relationNames) {
		return relationNames[r]
	}
	return fmt.Sprintf("Relation(%d)", uint8(r))
}

// Owner holds the fields of a Job that decide which pods belong to it. Every pod is foreign to the
// zero Owner, and to the Owner of a Job without a UID.
type Owner struct {
	jobState
	selector selector // if absent, the controller reference alone decides
}

// jobState holds these fields except the selector.
type jobState struct {
	uid                types.UID
	namespace          string
	deleting, finished bool
	finalizer          string
}

// Of returns the Owner for a Job. It returns an error if the Job's selector is invalid.
//
// The API server never stores a Job without a selector. If a Job made by hand has none, the
// controller reference alone decides, and no pod is adopted or released.
func Of(job *batchv1.Job, k keys.Keys) (Owner, error) {
	if job == nil {
		return Owner{}, errors.New("there is no Job")
	}
	k = k.WithDefaults()
	o := Owner{jobState: jobState{
		uid: job.UID, namespace: job.Namespace, deleting: job.DeletionTimestamp != nil,
		finished:  lifecycle.Finished(job) != nil,
		finalizer: k.Finalizer,
	}}
	var err error
	if o.selector, err = compileSelector(job.Spec.Selector, label{k.ControllerUID, string(job.UID)}); err != nil {
		return Owner{}, err
	}
	return o, nil
}

// SameJob reports whether both belong to the same Job in the same state. It does not
// compare selectors.
func (o *Owner) SameJob(other *Owner) bool { return o.jobState == other.jobState }

// Namespace returns the namespace of the Job.
func (o Owner) Namespace() string { return o.namespace }

// Relation returns the relation of the pod to the Job.
func (o Owner) Relation(pod *corev1.Pod) Relation {
	return o.RelationOf(pod, o.Selects(pod.Labels))
}

// RelationOf is Relation for a caller that knows whether the selector matches.
func (o *Owner) RelationOf(pod *corev1.Pod, selected bool) Relation {
	if o.uid == "" || pod.Namespace != o.namespace {
		return Foreign
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	switch {
	case ref != nil && ref.UID != o.uid:
		return Foreign
	case ref != nil && selected:
		return Owned
	case ref != nil && o.finished && slices.Contains(pod.Finalizers, o.finalizer):
		return Orphaned
	case ref != nil && (o.finished || o.deleting):
		return Foreign
	case ref != nil:
		return Releasable
	case !selected || o.selector.absent():
		return Foreign
	case !o.deleting && !o.finished && pod.DeletionTimestamp == nil:
		return Adoptable
	case slices.Contains(pod.Finalizers, o.finalizer):
		return Orphaned
	default:
		return Foreign
	}
}

// Selects reports whether the Job's selector matches the labels. An absent selector
// matches.
func (o Owner) Selects(set labels.Set) bool { return o.selector.matches(set) }
