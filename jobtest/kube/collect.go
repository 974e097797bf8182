package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Collector is the garbage collector and the namespace controller. It acts only when a
// method is called.
type Collector struct{ Server *Server }

// Run does everything that is due, and returns the number of steps.
func (c Collector) Run() int {
	steps := 0
	for c.Step() {
		steps++
	}
	return steps
}

// Step does one of these: delete an object whose owners are gone, remove an owner reference
// of an orphan, remove a finalizer of its own whose work is done, or empty or remove a
// namespace that is being deleted. It reports whether it did anything.
func (c Collector) Step() bool {
	s := c.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	owners := map[types.UID]placed{}
	for k, v := range s.versions {
		owners[v.obj.GetUID()] = placed{k, v}
	}
	for k, v := range s.versions {
		if s.collect(k, v, owners) || s.empty(v.obj) {
			return true
		}
	}
	return false
}

// versions yields the stored version of each object, with its kind.
func (s *Server) versions(yield func(*kind, *version) bool) {
	for _, k := range s.kinds {
		if k.stored != nil {
			continue // its objects are those of another kind
		}
		for _, id := range k.keys {
			if !yield(k, k.objects[id]) {
				return
			}
		}
	}
}

// placed is an object with its kind and version.
type placed struct {
	*kind
	*version
}

// collect does with an object what its owners and its own deletion require.
func (s *Server) collect(k *kind, v *version, owners map[types.UID]placed) bool {
	action := cluster.GarbageActionOf(v.obj, func(ref metav1.OwnerReference) metav1.Object {
		owner, found := owners[ref.UID]
		if found && owner.GroupVersionKind.Kind == ref.Kind && owner.obj.GetName() == ref.Name &&
			(owner.ClusterScoped || owner.obj.GetNamespace() == v.obj.GetNamespace()) {
			return owner.obj
		}
		return nil
	}, func(yield func(metav1.Object) bool) {
		s.versions(func(_ *kind, v *version) bool { return yield(v.obj) })
	})
	if action.Delete != "" {
		_, _, err := s.remove(k, v, deleteByUID(v.obj.GetUID(), action.Delete), nil)
		return err == nil
	}
	if action.Edits() {
		s.edit(k, v, func(o Object) { action.Edit(o) })
	}
	return action.Edits()
}

// empty deletes the content of a namespace that is being deleted, and then the
// namespace.
func (s *Server) empty(o Object) bool {
	ns, ok := o.(*corev1.Namespace)
	if !ok || ns.DeletionTimestamp == nil {
		return false
	}
	left := false
	for k, v := range s.versions {
		if k.ClusterScoped || v.obj.GetNamespace() != ns.Name {
			continue
		}
		left = true
		if v.obj.GetDeletionTimestamp() != nil {
			continue
		}
		_, _, err := s.remove(k, v, deleteByUID(v.obj.GetUID(), metav1.DeletePropagationBackground), nil)
		return err == nil
	}
	if left || len(ns.Spec.Finalizers) == 0 {
		return false
	}
	k := s.kindOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	s.edit(k, k.objects[keyOf(ns)], func(o Object) { o.(*corev1.Namespace).Spec.Finalizers = nil })
	return true
}

// edit changes an object without any check. It removes the object if it is being deleted
// and has nothing left to wait for.
func (s *Server) edit(k *kind, v *version, change func(Object)) {
	next := v.obj.DeepCopyObject().(Object)
	change(next)
	if k.finalized(v.obj, next) {
		k.drop(v, nil)
		return
	}
	// put cannot fail, because the object was encoded before.
	_, _ = k.put(v, next, nil)
}
