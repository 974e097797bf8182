package tracking

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Relation is what a pod is to a Job.
type Relation uint8

const (
	// Foreign pods have another owner, or nothing to do with the Job. They are
	// never touched.
	Foreign Relation = iota
	// Owned pods are controlled by the Job and match its selector.
	Owned
	// Adoptable pods have no controller and match the selector: the Job takes
	// them over, and adds the finalizer in the same patch. A Job that is being
	// deleted or has ended takes nobody over.
	Adoptable
	// Releasable pods are controlled by the Job but match its selector no more.
	Releasable
	// Orphaned pods match the selector, have no controller, may not be adopted,
	// and still carry the finalizer. Nobody else will remove it. So are pods that
	// a finished Job no longer selects: it does not release them, because
	// garbage collection needs the owner reference.
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

// Owner tells which pods are a Job's. To the zero Owner, and to that of a Job
// without a UID, every pod is foreign.
type Owner struct {
	uid       types.UID
	namespace string
	deleting  bool
	finished  bool
	selector  selector // none: the controller reference alone decides
}

// OwnerOf returns the Owner for a Job. It fails when the Job's selector cannot
// be read.
//
// The API server never stores a Job without a selector. For a Job that was
// built by hand and has none, the controller reference alone decides, nothing
// is adopted and nothing is released.
func OwnerOf(job *batchv1.Job) (Owner, error) {
	if job == nil {
		return Owner{}, errors.New("there is no Job")
	}
	o := Owner{uid: job.UID, namespace: job.Namespace, deleting: job.DeletionTimestamp != nil, finished: finished(job)}
	var err error
	if o.selector, err = compileSelector(job.Spec.Selector); err != nil {
		return Owner{}, err
	}
	return o, nil
}

// Relation returns what the pod is to the Job.
func (o Owner) Relation(pod *corev1.Pod) Relation {
	if pod == nil {
		return Foreign
	}
	return o.relation(pod, o.Selects(pod.Labels))
}

// relation is Relation for a pod whose labels have been looked at.
func (o *Owner) relation(pod *corev1.Pod, selected bool) Relation {
	if o.uid == "" || pod.Namespace != o.namespace {
		return Foreign
	}
	ref := controllerOf(pod)
	switch {
	case ref != nil && ref.UID != o.uid:
		return Foreign
	case ref != nil && selected:
		return Owned
	case ref != nil && o.finished && HasFinalizer(pod):
		return Orphaned
	case ref != nil && (o.finished || o.deleting):
		return Foreign
	case ref != nil:
		return Releasable
	case !selected || o.selector.absent():
		return Foreign
	case !o.deleting && !o.finished && pod.DeletionTimestamp == nil:
		return Adoptable
	case HasFinalizer(pod):
		return Orphaned
	default:
		return Foreign
	}
}

// Selects reports whether the Job's selector matches the labels; it does when
// there is no selector.
func (o Owner) Selects(set labels.Set) bool { return o.selector.matches(set) }

// controllerOf returns the pod's controller reference, without copying it.
func controllerOf(pod *corev1.Pod) *metav1.OwnerReference {
	for i := range pod.OwnerReferences {
		if ref := &pod.OwnerReferences[i]; ref.Controller != nil && *ref.Controller {
			return ref
		}
	}
	return nil
}

// HasFinalizer reports whether the pod carries the tracking finalizer.
func HasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

// Controller is who carries the decisions out: the name that Jobs call it by in
// spec.managedBy (KEP-4368), and the kind of the objects that it treats as Jobs.
// The zero value is the built-in Job controller.
type Controller struct {
	Name string
	Kind schema.GroupVersionKind
}

// Manages reports whether the Job is the controller's to manage. A Job that
// names no controller belongs to the built-in one.
func (c Controller) Manages(job *batchv1.Job) bool {
	if job == nil {
		return false
	}
	manager := batchv1.JobControllerName
	if job.Spec.ManagedBy != nil {
		manager = *job.Spec.ManagedBy
	}
	return manager == cmp.Or(c.Name, batchv1.JobControllerName)
}

func (c Controller) kind() schema.GroupVersionKind {
	if c.Kind.Empty() {
		return batchv1.SchemeGroupVersion.WithKind("Job")
	}
	return c.Kind
}

// Owns reports whether an owner reference is to an object of the controller's kind.
func (c Controller) Owns(ref *metav1.OwnerReference) bool {
	version, kind := c.kind().ToAPIVersionAndKind()
	return ref != nil && ref.Kind == kind && ref.APIVersion == version
}

// Reference returns the owner reference that the Job's pods carry.
func (c Controller) Reference(job *batchv1.Job) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, c.kind())
}

// Frees reports whether the controller may take the tracking finalizer off a
// pod without counting it, because nobody is left who would count it: the pod
// has no controller, or its Job is gone or finished. owner is the Job that the
// pod's controller reference names, nil when there is no such Job any more.
//
// A pod that something else controls, and a pod of a Job that another
// controller manages, are left alone.
func (c Controller) Frees(pod *corev1.Pod, owner *batchv1.Job) bool {
	if !HasFinalizer(pod) {
		return false
	}
	ref := controllerOf(pod)
	if ref == nil {
		return true
	}
	if !c.Owns(ref) {
		return false
	}
	if owner == nil || owner.UID != ref.UID {
		return true
	}
	return c.Manages(owner) && finished(owner)
}

func finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// Gauge reports whether the pod is one that the gauge
// job_terminated_pod_tracking_finalizer counts: it has terminated and still
// carries the finalizer (KEP-2307 § Monitoring Pods with finalizers). Nil
// counts as no pod, so that a caller can compare a pod before and after an
// event.
func Gauge(pod *corev1.Pod) bool {
	return HasFinalizer(pod) && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
}
