package controller

import (
	"context"
	"fmt"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

// Kind describes custom resources that are run as Jobs. T is the Go type of the objects, a
// pointer. The manager's scheme must contain it and its list type.
type Kind[T client.Object] struct {
	// Spec returns the spec of the Job for an object. Nil fields are treated as their
	// defaults. Without a selector, the owner reference alone decides which object owns a
	// pod. Spec must not change the object.
	Spec func(T) batchv1.JobSpec
	// Status returns a pointer to the Job status in the object, which must be part of the
	// status subresource. The schema of the custom resource must contain all fields of the
	// Job status.
	Status func(T) *batchv1.JobStatus
	// Keys lists the finalizer, labels and annotations that the controller sets on pods. Finalizer
	// is required: the built-in controller may remove its own finalizer from these pods.
	Keys tracking.Keys
}

// AddKind adds a controller of custom resources to a manager that has not started. It runs
// all objects of the kind, and ignores ManagedBy and ReplaceBuiltIn.
func AddKind[T client.Object](mgr manager.Manager, kind Kind[T], o Options) error {
	o.ManagedBy, o.ReplaceBuiltIn = "", true
	o, err := o.complete()
	if err != nil {
		return err
	}
	if kind.Keys.Finalizer == "" || kind.Keys.Finalizer == batchv1.JobTrackingFinalizer {
		return field.Required(field.NewPath("keys", "finalizer"),
			"the built-in controller may remove its own finalizer from pods")
	}
	if reflect.TypeFor[T]().Kind() != reflect.Pointer {
		return fmt.Errorf("%s is not a pointer to an object type", reflect.TypeFor[T]())
	}
	k, scheme := customKind[T]{Kind: kind}, mgr.GetScheme()
	if k.gvk, err = apiutil.GVKForObject(k.new(), scheme); err != nil {
		return err
	}
	list, err := scheme.New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err != nil {
		return err
	}
	k.list = list.(client.ObjectList)
	if k.clients, err = connect(mgr, o); err != nil {
		return err
	}
	options := client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper()}
	if k.own, err = client.NewWithWatch(k.config, options); err != nil {
		return err
	}
	return add(mgr, o, k)
}

// objects gives access to what a controller runs: Jobs, or custom resources as Jobs.
type objects interface {
	api() clients
	// controller says which objects the controller runs, and which keys it sets on their pods.
	controller(Options) tracking.Controller
	// get reads an object live.
	get(ctx context.Context, namespace, name string) (*batchv1.Job, error)
	// mayList returns an error if the objects of a namespace cannot be listed.
	mayList(ctx context.Context, namespace string) error
	// putStatus stores the status of a request.
	putStatus(ctx context.Context, r machine.Request) (*batchv1.Job, error)
	// informer returns an informer whose store holds Jobs.
	informer(namespace string) (cache.SharedIndexInformer, error)
	// reference returns the object that events refer to.
	reference(*batchv1.Job) runtime.Object
}

var byNamespace = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

// jobs gives access to the Jobs of Kubernetes.
type jobs struct{ clients }

func (j jobs) api() clients { return j.clients }

func (jobs) controller(o Options) tracking.Controller {
	return tracking.Controller{Name: o.ManagedBy, Kind: batchv1.SchemeGroupVersion.WithKind("Job")}
}

func (j jobs) get(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return j.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (j jobs) mayList(ctx context.Context, namespace string) error {
	_, err := j.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

func (j jobs) putStatus(ctx context.Context, r machine.Request) (*batchv1.Job, error) {
	return j.BatchV1().Jobs(r.Namespace).
		Patch(ctx, r.Name, types.MergePatchType, r.Patch, metav1.PatchOptions{}, "status")
}

func (j jobs) informer(namespace string) (cache.SharedIndexInformer, error) {
	informer := batchinformers.NewFilteredJobInformer(j, namespace, 0, byNamespace, consistent)
	return informer, informer.SetTransform(ctrlcache.TransformStripManagedFields())
}

func (jobs) reference(job *batchv1.Job) runtime.Object { return job }

// customKind are custom resources that are run as Jobs.
type customKind[T client.Object] struct {
	Kind[T]
	clients
	gvk  schema.GroupVersionKind
	list client.ObjectList // an empty one
	own  client.WithWatch  // of the custom resources
}

func (k customKind[T]) api() clients { return k.clients }

func (k customKind[T]) controller(Options) tracking.Controller {
	return tracking.Controller{Kind: k.gvk, Keys: k.Keys}
}

func (customKind[T]) new() T { return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T) }

func (k customKind[T]) newList() client.ObjectList {
	return k.list.DeepCopyObject().(client.ObjectList)
}

// job returns a Job with the metadata, spec and status of an object. They are not copied.
func (k customKind[T]) job(o T) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: meta.AsPartialObjectMetadata(o).ObjectMeta, Spec: k.Spec(o), Status: *k.Status(o)}
	job.ManagedFields, job.Spec.ManagedBy = nil, nil
	return job
}

func (k customKind[T]) get(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	o := k.new()
	if err := k.own.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return nil, err
	}
	return k.job(o), nil
}

func (k customKind[T]) mayList(ctx context.Context, namespace string) error {
	return k.own.List(ctx, k.newList(), client.InNamespace(namespace), client.Limit(1))
}

// anotherStatus differs in each field from every status of a request. A merge patch from it to such
// a status names all fields, and unsets those that are empty.
var anotherStatus = batchv1.JobStatus{
	Conditions: []batchv1.JobCondition{{}}, StartTime: longAgo, CompletionTime: longAgo,
	Active: -1, Succeeded: -1, Failed: -1, Terminating: new(int32(-1)), Ready: new(int32(-1)),
	CompletedIndexes: "-", FailedIndexes: new("-"),
	UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{""}, Failed: []types.UID{""}},
}

var longAgo = &metav1.Time{Time: time.Time{}.Add(time.Second)}

// putStatus patches the status. The patch fails if the object has another version than the request
// names, and leaves other fields of the status subresource as they are.
func (k customKind[T]) putStatus(ctx context.Context, r machine.Request) (*batchv1.Job, error) {
	before, after := k.new(), k.new()
	for o, status := range map[client.Object]*batchv1.JobStatus{before: &anotherStatus, after: r.Status} {
		o.SetNamespace(r.Namespace)
		o.SetName(r.Name)
		o.SetResourceVersion(r.ResourceVersion)
		*k.Status(o.(T)) = *status
	}
	if err := k.own.Status().Patch(ctx, after,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, err
	}
	return k.job(after), nil
}

func (k customKind[T]) informer(namespace string) (cache.SharedIndexInformer, error) {
	options := func(o metav1.ListOptions) *client.ListOptions {
		consistent(&o)
		return &client.ListOptions{Namespace: namespace, Limit: o.Limit, Continue: o.Continue, Raw: &o}
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := k.newList()
			return list, k.own.List(ctx, list, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return k.own.Watch(ctx, k.newList(), options(o))
		},
	}, k.new(), 0, byNamespace)
	return informer, informer.SetTransform(func(obj any) (any, error) {
		if o, ok := obj.(T); ok {
			return k.job(o), nil
		}
		return obj, nil
	})
}

func (k customKind[T]) reference(job *batchv1.Job) runtime.Object {
	apiVersion, kind := k.gvk.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: job.Namespace, Name: job.Name,
		UID: job.UID, ResourceVersion: job.ResourceVersion}
}
