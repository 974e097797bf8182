package kube

import (
	"reflect"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is a stored object: a Go type of k8s.io/api, or *unstructured.Unstructured for a
// custom resource.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind of custom resource.
type Kind struct {
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural name in paths. By default it is the kind in lower case
	// with an s.
	Resource   string
	ShortNames []string
	// ClusterScoped objects are in no namespace.
	ClusterScoped bool
	// Status says that there is a status subresource.
	Status bool
}

func (k *Kind) singular() string { return strings.ToLower(k.GroupVersionKind.Kind) }

func (k *Kind) gvr() schema.GroupVersionResource {
	return k.GroupVersionKind.GroupVersion().WithResource(k.Resource)
}

func (k *Kind) groupResource() schema.GroupResource { return k.gvr().GroupResource() }

// kind is a kind with its rules and its objects.
type kind struct {
	Kind
	rules
	s *Server
	// fresh returns an empty object of the Go type that clients see.
	fresh func() Object
	// stored and shown convert between the objects that clients see and the stored ones, if
	// a kind is a view of the objects of another kind. Otherwise they are nil.
	stored, shown func(Object) Object
	*table
}

// table has the objects of a kind and their history.
type table struct {
	objects map[string]*version // by key
	keys    []string            // sorted
	events  []Event
	// compacted is the revision up to which the history is compacted.
	compacted int64
}

// rules is the behaviour of a kind. A nil function does nothing.
type rules struct {
	// custom marks custom resources: they do not support strategic merge patches, and a
	// status update keeps their metadata.
	custom bool
	// defaults sets the defaults at each write.
	defaults func(Object)
	// create prepares a new object, after the defaults.
	create func(Object)
	// validate checks a whole object.
	validate func(Object) field.ErrorList
	// update prepares the next version of an object in an update, and updateStatus in an
	// update of the status subresource. The versions may share data that no later step
	// changes.
	update, updateStatus func(next, old Object)
	// validateUpdate validates an update. If it is nil, validate is used.
	validateUpdate, validateStatus func(next, old Object) field.ErrorList
	// needsVersion rejects an update without a resource version.
	needsVersion bool
	// createOnUpdate lets an update create an object.
	createOnUpdate bool
	// orphans says that the default propagation policy is Orphan.
	orphans bool
	// returnsDeleted says that the answer to a deletion is the object instead of a status.
	returnsDeleted bool
	// grace returns the grace period of a deletion in seconds; nil means none.
	grace func(obj Object, asked *int64) int64
	// fields returns the fields for field selectors besides name and namespace.
	fields func(Object) fields.Set
}

// builtIn returns the kinds that every server has.
func builtIn() []*kind {
	return []*kind{
		typed[corev1.Namespace](corev1.SchemeGroupVersion, "namespaces", "ns", namespaceRules),
		typed[corev1.Node](corev1.SchemeGroupVersion, "nodes", "no", nodeRules),
		typed[corev1.Pod](corev1.SchemeGroupVersion, "pods", "po", podRules),
		typed[corev1.Event](corev1.SchemeGroupVersion, "events", "ev", eventRules),
		typed[corev1.ConfigMap](corev1.SchemeGroupVersion, "configmaps", "cm", rules{}),
		typed[corev1.Secret](corev1.SchemeGroupVersion, "secrets", "", secretRules),
		typed[corev1.Service](corev1.SchemeGroupVersion, "services", "svc",
			rules{createOnUpdate: true, returnsDeleted: true}),
		typed[corev1.ServiceAccount](corev1.SchemeGroupVersion, "serviceaccounts", "sa", rules{returnsDeleted: true}),
		typed[batchv1.Job](batchv1.SchemeGroupVersion, "jobs", "", jobRules),
		typed[coordinationv1.Lease](coordinationv1.SchemeGroupVersion, "leases", "",
			rules{needsVersion: true, createOnUpdate: true}),
	}
}

// newerEvents returns the kind that shows the events of core/v1 as events.k8s.io/v1.
func newerEvents(core *kind) *kind {
	k := typed[eventsv1.Event](eventsv1.SchemeGroupVersion, "events", "ev", core.rules)
	k.table = core.table
	k.stored = func(o Object) Object { return toCoreEvent(o.(*eventsv1.Event)) }
	k.shown = func(o Object) Object { return fromCoreEvent(o.(*corev1.Event)) }
	return k
}

// typed returns a kind with a Go type of the same name.
func typed[T any, P interface {
	*T
	Object
}](gv schema.GroupVersion, resource, short string, r rules) *kind {
	name := reflect.TypeFor[T]().Name()
	k := &kind{
		Kind:  Kind{GroupVersionKind: gv.WithKind(name), Resource: resource, Status: r.updateStatus != nil},
		rules: r,
		fresh: func() Object { return P(new(T)) },
	}
	if short != "" {
		k.ShortNames = []string{short}
	}
	k.ClusterScoped = resource == "namespaces" || resource == "nodes"
	return k
}

// custom returns a kind without a Go type. Without a status subresource, the status is an ordinary field.
func custom(c Kind) *kind {
	if c.Resource == "" {
		c.Resource = c.singular() + "s"
	}
	r := rules{
		custom: true, needsVersion: true,
		create: func(o Object) { o.SetGeneration(1) },
		update: func(next, old Object) { bump(next, old, contentChanged(next, old, false)) },
	}
	if c.Status {
		r.create = func(o Object) {
			delete(o.(*unstructured.Unstructured).Object, "status")
			o.SetGeneration(1)
		}
		r.update = func(next, old Object) {
			setOrDelete(next.(*unstructured.Unstructured).Object, "status", old.(*unstructured.Unstructured).Object)
			bump(next, old, contentChanged(next, old, true))
		}
		r.updateStatus = func(next, old Object) {
			to, from := next.(*unstructured.Unstructured), old.DeepCopyObject().(*unstructured.Unstructured)
			setOrDelete(from.Object, "status", to.Object)
			*to = *from
		}
	}
	return &kind{Kind: c, rules: r, fresh: func() Object {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}}
}
