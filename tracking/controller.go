package tracking

import (
	"cmp"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/jobstatus"
)

// Controller identifies the controller that carries out the decisions: the name that Jobs
// use for it in spec.managedBy (KEP-4368), the kind of the objects that it runs as Jobs,
// and the keys that it puts on their pods. The zero value is the built-in Job controller.
type Controller struct {
	Name string
	Kind schema.GroupVersionKind
	Keys Keys
}

// Manages reports whether the controller manages the Job. The built-in controller manages
// Jobs that name no controller.
func (c Controller) Manages(job *batchv1.Job) bool {
	builtin := batchv1.JobControllerName
	return job != nil && *cmp.Or(job.Spec.ManagedBy, &builtin) == cmp.Or(c.Name, builtin)
}

func (c Controller) kind() schema.GroupVersionKind {
	return cmp.Or(c.Kind, batchv1.SchemeGroupVersion.WithKind("Job"))
}

// Owns reports whether an owner reference refers to an object of the controller's kind.
func (c Controller) Owns(ref *metav1.OwnerReference) bool {
	version, kind := c.kind().ToAPIVersionAndKind()
	return ref != nil && ref.Kind == kind && ref.APIVersion == version
}

// Reference returns the owner reference that the Job's pods carry.
func (c Controller) Reference(job *batchv1.Job) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, c.kind())
}

// Frees reports whether the controller may remove the tracking finalizer from a pod
// without counting it. It may if no controller is left to count the pod: the pod has no
// controller, or its Job is gone or finished. owner is the Job that the controller
// reference of the pod names, nil if that Job no longer exists.
//
// The controller does not free a pod that another kind controls, or a pod of a Job that
// another controller manages.
func (c Controller) Frees(pod *corev1.Pod, owner *batchv1.Job) bool {
	if !c.Keys.HasFinalizer(pod) {
		return false
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	switch {
	case ref == nil:
		return true
	case !c.Owns(ref):
		return false
	case owner == nil || owner.UID != ref.UID:
		return true
	}
	return c.Manages(owner) && jobstatus.Finished(owner) != nil
}
