package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These functions are for tests and actors. They make no requests, so Intercept does not
// see them. Of a Go type that is not of a built-in kind they panic: a test would prove nothing. Objects of
// other kinds are read with Objects.

// Get returns the stored object of a Go type, as in Get[*corev1.Pod]. The object must not
// be changed.
func Get[T Object](s *Server, namespace, name string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := kindFor[T](s).objects[key(namespace, name)]; v != nil {
		obj, ok := v.obj.(T)
		return obj, ok
	}
	var none T
	return none, false
}

// List returns the objects of a Go type in a namespace, sorted by name, or in all
// namespaces if it is empty. They must not be changed.
func List[T Object](s *Server, namespace string) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []T
	for _, obj := range kindFor[T](s).all() {
		if obj, ok := obj.(T); ok && (namespace == "" || namespace == obj.GetNamespace()) {
			found = append(found, obj)
		}
	}
	return found
}

// Edit applies any change to an object, including its status, without any check. It reports
// whether the object exists. If the object is being deleted and the change removes its last
// finalizer, it is removed.
func Edit[T Object](s *Server, namespace, name string, change func(T)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kindFor[T](s)
	if k.objects[key(namespace, name)] == nil {
		return false
	}
	s.edit(k, k.objects[key(namespace, name)], func(o Object) { change(o.(T)) })
	return true
}

// Objects returns the objects of any kind, sorted by namespace and name. They must not be changed.
func (s *Server) Objects(kind schema.GroupVersionKind) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kindOf(kind)
	if k == nil {
		return nil
	}
	return k.all()
}

// kindFor finds the built-in kind of a Go type.
func kindFor[T Object](s *Server) *kind {
	for _, k := range s.kinds {
		if !k.custom && reflect.TypeOf(k.fresh()) == reflect.TypeFor[T]() {
			return k
		}
	}
	panic(fmt.Sprintf("kube: %v is the type of no built-in kind", reflect.TypeFor[T]()))
}
