package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// bindingKind decodes bindings, which are not stored.
var bindingKind = typed[corev1.Binding](corev1.SchemeGroupVersion, "bindings", "", rules{})

// serveBind assigns a pod to a node, at the request of a scheduler.
func (s *Server) serveBind(r *Request) (answer, error) {
	obj, err := bindingKind.decode(r)
	if err != nil {
		return answer{}, err
	}
	if err := ensureNamespace(r.kind, r.Namespace, obj); err != nil {
		return answer{}, err
	}
	binding := obj.(*corev1.Binding)
	if binding.Name != r.Name {
		return answer{}, apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := targetErrors(binding.Target); len(errs) > 0 {
		return answer{}, internal(errs.ToAggregate().Error())
	}
	old := r.kind.objects[key(r.Namespace, r.Name)]
	if old == nil {
		return answer{}, r.kind.notFound(r.Name)
	}
	if uid := old.obj.GetUID(); binding.UID != "" && binding.UID != uid {
		return answer{}, r.kind.preconditionFailed(old.obj, "UID", string(binding.UID), string(uid))
	}
	if rv := old.obj.GetResourceVersion(); binding.ResourceVersion != "" && binding.ResourceVersion != rv {
		return answer{}, r.kind.preconditionFailed(old.obj, "ResourceVersion", binding.ResourceVersion, rv)
	}
	next := old.obj.DeepCopyObject().(*corev1.Pod)
	if problem := unbindable(next); problem != "" {
		return answer{}, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, r.Name,
			errors.New(problem))
	}
	bind(next, binding, s.stamp())
	if _, err := r.kind.store(old, next, r); err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusCreated, body: statusJSON(metav1.Status{
		Status: metav1.StatusSuccess, Code: http.StatusCreated})}, nil
}

func targetErrors(target corev1.ObjectReference) (errs field.ErrorList) {
	path := field.NewPath("target")
	if target.Kind != "" && target.Kind != "Node" {
		errs = append(errs, field.NotSupported(path.Child("kind"), target.Kind, []string{"Node", "<empty>"}))
	}
	if target.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	return errs
}

// unbindable returns why a pod cannot be assigned to a node.
func unbindable(pod *corev1.Pod) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Sprintf("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Sprintf("pod %s has non-empty .spec.schedulingGates", pod.Name)
	}
	return ""
}

// bind assigns a pod to a node, and adds the annotations and labels of the binding.
func bind(pod *corev1.Pod, binding *corev1.Binding, now metav1.Time) {
	pod.Spec.NodeName, pod.Status.NominatedNodeName = binding.Target.Name, ""
	pod.Annotations = labels.Merge(pod.Annotations, binding.Annotations)
	pod.Labels = labels.Merge(pod.Labels, binding.Labels)
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}
	isScheduled := func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }
	pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, isScheduled), scheduled)
}
