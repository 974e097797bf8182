package kube

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// dryRun reports whether to check a change without storing it.
func dryRun(r *Request) bool { return r != nil && r.Query.Get("dryRun") == metav1.DryRunAll }

func (s *Server) serveCreate(r *Request) (answer, error) {
	obj, err := r.kind.decode(r)
	if err != nil {
		return answer{}, err
	}
	v, err := s.create(r.kind, r.Namespace, obj, r)
	return s.show(http.StatusCreated, r, v, err)
}

// create stores a new object.
func (s *Server) create(k *kind, namespace string, obj Object, r *Request) (*version, error) {
	if err := ensureNamespace(k, namespace, obj); err != nil {
		return nil, err
	}
	generated := obj.GetName() == "" && obj.GetGenerateName() != ""
	if generated {
		obj.SetName(s.newName(k, namespace, obj.GetGenerateName()))
	}
	if err := s.admit(k, namespace, obj.GetName()); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != "" {
		return nil, internal("resourceVersion should not be set on objects to be created")
	}
	s.systemFields(obj)
	if k.rules.create != nil {
		k.rules.create(obj)
	}
	if k.defaults != nil {
		k.defaults(obj)
	}
	var errs field.ErrorList
	if k.validate != nil {
		errs = k.validate(obj)
	}
	if len(errs) == 0 {
		errs = metadataErrors(k, obj)
	}
	if len(errs) > 0 {
		return nil, k.invalid(obj.GetName(), errs)
	}
	if old := k.objects[keyOf(obj)]; old != nil {
		err := apierrors.NewAlreadyExists(k.groupResource(), obj.GetName())
		if old.obj.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
	return k.store(nil, obj, r)
}

// store stores a version. In a dry run it only returns it.
func (k *kind) store(old *version, next Object, r *Request) (*version, error) {
	if !dryRun(r) {
		return k.put(old, next, r)
	}
	next.SetResourceVersion("")
	body, err := encode(next)
	v := &version{obj: next, body: body}
	if old != nil {
		v.revision = old.revision
	}
	return v, err
}

// ensureNamespace sets the namespace of an object to that of the path.
func ensureNamespace(k *kind, namespace string, obj Object) error {
	if k.ClusterScoped {
		if obj.GetNamespace() != "" {
			return apierrors.NewBadRequest("namespace is not allowed on this type")
		}
		return nil
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(namespace)
	}
	if obj.GetNamespace() != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace " +
			"sent on the request")
	}
	return nil
}

// admit rejects new objects in a namespace that does not exist or is being deleted.
func (s *Server) admit(k *kind, namespace, name string) error {
	if k.ClusterScoped {
		return nil
	}
	namespaces := s.byPath[corev1.SchemeGroupVersion.WithResource("namespaces")]
	v := namespaces.objects[key("", namespace)]
	if v == nil {
		return namespaces.notFound(namespace)
	}
	if v.obj.(*corev1.Namespace).Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err := apierrors.NewForbidden(k.groupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated",
			namespace), Field: "metadata.namespace"})
	return err
}

func (s *Server) serveUpdate(r *Request) (answer, error) {
	next, err := r.Decode()
	if err != nil {
		return answer{}, err
	}
	old := r.kind.objects[key(r.Namespace, r.Name)]
	if old == nil {
		if !r.kind.createOnUpdate || r.Subresource != "" {
			return answer{}, r.kind.notFound(r.Name)
		}
		v, err := s.create(r.kind, r.Namespace, next, r)
		return s.show(http.StatusCreated, r, v, err)
	}
	if uid := next.GetUID(); uid != "" && uid != old.obj.GetUID() {
		return answer{}, r.kind.preconditionFailed(old.obj, "UID", string(uid), string(old.obj.GetUID()))
	}
	v, err := s.update(r.kind, old, next, r)
	return s.show(http.StatusOK, r, v, err)
}

func (r *Request) checkName(next Object) error {
	switch next.GetName() {
	case r.Name:
		return nil
	case "":
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the name of the object (%s based on URL) was undeterminable: name must be provided", r.Name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the name of the object (%s) does not match the name on the URL (%s)", next.GetName(), r.Name))
}

// update stores the next version of an object and takes ownership of it. If the update
// removes the last finalizer of an object that is being deleted, the object is removed.
func (s *Server) update(k *kind, old *version, next Object, r *Request) (*version, error) {
	switch given := next.GetResourceVersion(); {
	case given == "" && k.needsVersion:
		// The API server has the resource in this message, not the kind.
		gk := schema.GroupKind{Group: k.GroupVersionKind.Group, Kind: k.Resource}
		return nil, apierrors.NewInvalid(gk, next.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	case given != "" && given != old.obj.GetResourceVersion():
		return nil, k.conflict(old.obj.GetName(), "the object has been modified; please apply your changes to the "+
			"latest version and try again")
	}
	next.SetResourceVersion(old.obj.GetResourceVersion())
	next.SetGeneration(old.obj.GetGeneration())
	if k.defaults != nil && r.Subresource == "" {
		k.defaults(next)
	}
	errs := k.prepare(old.obj, next, r.Subresource)
	if len(errs) > 0 {
		return nil, k.invalid(old.obj.GetName(), errs)
	}
	if k.finalized(old.obj, next) && !dryRun(r) {
		k.drop(old, r)
		next.SetResourceVersion("")
		body, err := encode(next)
		return &version{obj: next, body: body, revision: old.revision}, err
	}
	return k.store(old, next, r)
}

// prepare restores the immutable fields of an object, and validates the other changes.
func (k *kind) prepare(old, next Object, subresource string) field.ErrorList {
	change, check := k.rules.update, k.validateUpdate
	if subresource == "status" {
		change, check = k.updateStatus, k.validateStatus
	} else if subresource == "finalize" {
		change = func(next, old Object) {
			ns, finalizers := next.(*corev1.Namespace), next.(*corev1.Namespace).Spec.Finalizers
			*ns = *old.(*corev1.Namespace).DeepCopy()
			ns.Spec.Finalizers = finalizers
		}
	}
	if change != nil {
		change(next, old)
	}
	if next.GetUID() == "" {
		next.SetUID(old.GetUID())
	}
	next.SetManagedFields(nil)
	next.SetSelfLink("")
	next.SetCreationTimestamp(old.GetCreationTimestamp())
	if at := old.GetDeletionTimestamp(); at != nil {
		next.SetDeletionTimestamp(at)
	}
	if next.GetDeletionGracePeriodSeconds() == nil {
		next.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	var errs field.ErrorList
	if !sameMetadata(next, old) {
		errs = metadataErrors(k, next)
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(next, old, field.NewPath("metadata"))...)
	}
	if check != nil {
		errs = append(errs, check(next, old)...)
	}
	if k.validate != nil && subresource == "" && k.validateUpdate == nil {
		errs = append(errs, k.validate(next)...)
	}
	return errs
}

// sameMetadata reports whether an update keeps the mutable metadata. Stored metadata need
// not be validated again.
func sameMetadata(next, old Object) bool {
	return next.GetUID() == old.GetUID() && next.GetGenerateName() == old.GetGenerateName() &&
		maps.Equal(next.GetLabels(), old.GetLabels()) &&
		maps.Equal(next.GetAnnotations(), old.GetAnnotations()) &&
		slices.Equal(next.GetFinalizers(), old.GetFinalizers()) &&
		equality.Semantic.DeepEqual(next.GetOwnerReferences(), old.GetOwnerReferences()) &&
		equality.Semantic.DeepEqual(next.GetDeletionTimestamp(), old.GetDeletionTimestamp()) &&
		equality.Semantic.DeepEqual(next.GetDeletionGracePeriodSeconds(), old.GetDeletionGracePeriodSeconds())
}

// finalized reports whether an update removed the last reason to keep a deleted object.
func (k *kind) finalized(old, next Object) bool {
	if len(next.GetFinalizers()) > 0 || old.GetDeletionTimestamp() == nil {
		return false
	}
	if ns, ok := next.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return false
	}
	grace := old.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}
