package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	owners := s.owners()
	for _, k := range s.tables() {
		for _, id := range k.keys {
			v := k.objects[id]
			if s.collect(k, v, owners) || s.finish(k, v) || s.empty(v.obj) {
				return true
			}
		}
	}
	return false
}

// placed is an object with its kind and version.
type placed struct {
	*kind
	*version
}

func (s *Server) owners() map[types.UID]placed {
	all := map[types.UID]placed{}
	for _, k := range s.tables() {
		for _, v := range k.objects {
			all[v.obj.GetUID()] = placed{k, v}
		}
	}
	return all
}

// collect processes the owner references of an object. It removes the references to owners
// that are gone if another owner remains, and deletes the object otherwise.
func (s *Server) collect(k *kind, v *version, owners map[types.UID]placed) bool {
	refs := v.obj.GetOwnerReferences()
	if len(refs) == 0 || v.obj.GetDeletionTimestamp() != nil {
		return false
	}
	var solid []metav1.OwnerReference
	waits := false // an owner waits for the deletion of the object
	for _, ref := range refs {
		owner, found := owners[ref.UID]
		switch {
		case !found || !owner.is(ref, v.obj.GetNamespace()):
		case deletesDependents(owner.obj):
			waits = true
		default:
			solid = append(solid, ref)
		}
	}
	switch {
	case len(solid) == len(refs):
		return false
	case len(solid) > 0:
		s.edit(k, v, func(o Object) { o.SetOwnerReferences(solid) })
		return true
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case waits && s.hasDependents(v.obj), slices.Contains(v.obj.GetFinalizers(), metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case slices.Contains(v.obj.GetFinalizers(), metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	_, _, err := s.remove(k, v, deleteByUID(v.obj.GetUID(), policy), nil)
	return err == nil
}

// is reports whether a reference from a namespace refers to this object.
func (o placed) is(ref metav1.OwnerReference, namespace string) bool {
	return o.GroupVersionKind.Kind == ref.Kind && o.obj.GetName() == ref.Name &&
		(o.ClusterScoped || o.obj.GetNamespace() == namespace)
}

func deletesDependents(o Object) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// finish processes the finalizers of the collector on a deleted object.
func (s *Server) finish(k *kind, v *version) bool {
	if v.obj.GetDeletionTimestamp() == nil {
		return false
	}
	has := func(f string) bool { return slices.Contains(v.obj.GetFinalizers(), f) }
	switch {
	case has(metav1.FinalizerOrphanDependents):
		if d, ref, ok := s.dependent(v.obj, nil); ok {
			s.edit(d.kind, d.version, func(o Object) {
				o.SetOwnerReferences(slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()),
					func(r metav1.OwnerReference) bool { return r.UID == ref.UID }))
			})
			return true
		}
		s.edit(k, v, without(metav1.FinalizerOrphanDependents))
		return true
	case has(metav1.FinalizerDeleteDependents):
		blocks := func(ref metav1.OwnerReference) bool {
			return ref.BlockOwnerDeletion != nil &&
				*ref.BlockOwnerDeletion
		}
		if _, _, blocked := s.dependent(v.obj, blocks); blocked {
			return false
		}
		s.edit(k, v, without(metav1.FinalizerDeleteDependents))
		return true
	}
	return false
}

func without(finalizer string) func(Object) {
	return func(o Object) {
		o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()),
			func(f string) bool { return f == finalizer }))
	}
}

func (s *Server) hasDependents(owner Object) bool {
	_, _, found := s.dependent(owner, nil)
	return found
}

// dependent finds an object with a reference to the owner that meets a condition.
func (s *Server) dependent(owner Object, when func(metav1.OwnerReference) bool) (placed, metav1.OwnerReference, bool) {
	for _, k := range s.tables() {
		for _, id := range k.keys {
			v := k.objects[id]
			for _, ref := range v.obj.GetOwnerReferences() {
				if ref.UID == owner.GetUID() && (when == nil || when(ref)) {
					return placed{k, v}, ref, true
				}
			}
		}
	}
	return placed{}, metav1.OwnerReference{}, false
}

// empty deletes the content of a namespace that is being deleted, and then the
// namespace.
func (s *Server) empty(o Object) bool {
	ns, ok := o.(*corev1.Namespace)
	if !ok || ns.DeletionTimestamp == nil {
		return false
	}
	left := false
	for _, k := range s.tables() {
		for _, id := range k.keys {
			v := k.objects[id]
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

// tables returns the kinds that store their own objects.
func (s *Server) tables() []*kind {
	return slices.DeleteFunc(slices.Clone(s.kinds), func(k *kind) bool { return k.stored != nil })
}
