package classify

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Relation is the relation of a pod to a Job.
type Relation uint8

const (
	// Foreign pods have another controller or no relation to the Job. The Job never
	// changes them.
	Foreign Relation = iota
	// Owned pods are controlled by the Job and match its selector.
	Owned
	// Adoptable pods have no controller and match the selector: the Job adopts them,
	// and adds the finalizer in the same patch. A Job that is being deleted or has
	// ended adopts none.
	Adoptable
	// Releasable pods are controlled by the Job but no longer match its selector.
	Releasable
	// Orphaned pods have the finalizer, which no other controller will remove, and match
	// the selector, but have no controller and may not be adopted. Pods that a finished
	// Job no longer selects are also orphaned: the Job does not release them, because
	// garbage collection needs the owner reference.
	Orphaned
)

// Own reports whether the Job owns or adopts the pod.
func (r Relation) Own() bool { return r == Owned || r == Adoptable }

// Relation returns the relation of the pod to the Job. Every pod is foreign to the zero
// Classifier, and to that of a Job without a UID; a nil pod is foreign to all. The API server never
// stores a Job without a selector. If a Job made by hand has none, the controller reference alone
// decides, and no pod is adopted or released.
func (c *Classifier) Relation(pod *corev1.Pod) Relation {
	if pod == nil || c.job.uid == "" || pod.Namespace != c.job.namespace {
		return Foreign
	}
	ref, selected := metav1.GetControllerOfNoCopy(pod), c.Selects(pod.Labels)
	switch {
	case ref != nil && (ref.UID != c.job.uid || ref.Name != c.job.name):
		return Foreign
	case ref != nil && selected:
		return Owned
	case ref != nil && c.job.finished && c.Keys().HasFinalizer(pod):
		return Orphaned
	case ref != nil && (c.job.finished || c.job.deleting):
		return Foreign
	case ref != nil:
		return Releasable
	case !selected || c.selector.absent():
		return Foreign
	case !c.job.deleting && !c.job.finished && pod.DeletionTimestamp == nil:
		return Adoptable
	case c.Keys().HasFinalizer(pod):
		return Orphaned
	default:
		return Foreign
	}
}

// Namespace returns the namespace of the Job.
func (c *Classifier) Namespace() string { return c.job.namespace }

// Selects reports whether the Job's selector matches the labels. An absent selector
// matches.
func (c *Classifier) Selects(set labels.Set) bool { return c.selector.matches(set) }

// Selects reports whether a Job has a selector that matches a pod of its namespace.
func Selects(job *batchv1.Job, pod *corev1.Pod) bool {
	if job == nil || pod == nil || job.Spec.Selector == nil || job.Namespace != pod.Namespace {
		return false
	}
	s, err := compileSelector(job.Spec.Selector, label{batchv1.ControllerUidLabel, string(job.UID)})
	return err == nil && s.matches(pod.Labels)
}
