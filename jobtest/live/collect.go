package live

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/cluster"
)

// retryTime is the delay before the collector retries after an error.
const retryTime = time.Second

var (
	jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
	podKind = corev1.SchemeGroupVersion.WithKind("Pod")
)

// collector is a garbage collector of Jobs and pods, because envtest and package kube have
// none. It can run next to another garbage collector, because every deletion has a UID
// precondition. It has informers of its own: those of the manager leave a goroutine behind
// when they stop, and then the bubble of a test panics.
type collector struct {
	client    client.Client // without a cache
	metadata  metadata.Interface
	namespace string
	informers map[schema.GroupVersionKind]cache.SharedIndexInformer
	running   sync.WaitGroup
	gone      map[types.UID]bool
	wake      chan struct{} // has an element if something may have changed
}

func newCollector(cfg *rest.Config, mapper meta.RESTMapper, namespace string) (*collector, error) {
	direct, errDirect := client.New(cfg, client.Options{Mapper: mapper})
	of, errMetadata := metadata.NewForConfig(cfg)
	return &collector{
		client: direct, metadata: of, namespace: namespace,
		informers: map[schema.GroupVersionKind]cache.SharedIndexInformer{},
		gone:      map[types.UID]bool{},
		wake:      make(chan struct{}, 1),
	}, errors.Join(errDirect, errMetadata)
}

// Start implements manager.Runnable.
func (c *collector) Start(ctx context.Context) error {
	defer c.running.Wait()
	for {
		var again <-chan time.Time
		if err := c.sweep(ctx); err != nil {
			again = time.After(retryTime)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-again:
		}
	}
}

// informer returns the informer of a kind, whose events wake the collector.
func (c *collector) informer(ctx context.Context, kind schema.GroupVersionKind) (cache.SharedIndexInformer, error) {
	if informer := c.informers[kind]; informer != nil {
		return informer, nil
	}
	mapping, err := c.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	namespace := c.namespace
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = metav1.NamespaceAll
	}
	informer := metadatainformer.NewFilteredMetadataInformer(c.metadata, mapping.Resource, namespace, 0, nil,
		nil).Informer()
	changed := func(any) {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed, UpdateFunc: func(_, o any) { changed(o) },
	}); err != nil {
		return nil, err
	}
	c.running.Go(func() { informer.RunWithContext(ctx) })
	c.informers[kind] = informer
	return informer, nil
}

// list returns the cached objects of a kind. The metadata must not be changed.
func (c *collector) list(ctx context.Context, kind schema.GroupVersionKind) ([]*metav1.PartialObjectMetadata, error) {
	informer, err := c.informer(ctx, kind)
	if err != nil {
		return nil, err
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, ctx.Err()
	}
	var all []*metav1.PartialObjectMetadata
	for _, o := range informer.GetStore().List() {
		of := *o.(*metav1.PartialObjectMetadata)
		of.SetGroupVersionKind(kind)
		all = append(all, &of)
	}
	return all, nil
}

// sweep processes all Jobs and pods.
func (c *collector) sweep(ctx context.Context) error {
	jobs, errJobs := c.list(ctx, jobKind)
	pods, errPods := c.list(ctx, podKind)
	errs := []error{errJobs, errPods}
	for _, o := range slices.Concat(jobs, pods) {
		errs = append(errs, c.collect(ctx, o, cluster.Objects(pods)))
	}
	for _, job := range jobs {
		if job.DeletionTimestamp != nil {
			errs = append(errs, c.finish(ctx, job))
		}
	}
	return errors.Join(errs...)
}

// collect does with an object what its owners require.
func (c *collector) collect(ctx context.Context, o *metav1.PartialObjectMetadata, pods iter.Seq[metav1.Object]) error {
	var errs []error
	action := cluster.GarbageActionOf(o, func(ref metav1.OwnerReference) metav1.Object {
		owner, err := c.owner(ctx, o.Namespace, ref)
		switch errs = append(errs, err); {
		case err != nil:
			return o // unknown, so it stays
		case owner == nil:
			return nil
		}
		return owner
	}, pods)
	// The object may have lost its owner reference since the cached version. Then the
	// precondition keeps it.
	as := client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}
	switch {
	case action.Drop != nil:
		errs = append(errs, settled(c.change(ctx, o, func(o *metav1.PartialObjectMetadata) {
			o.OwnerReferences = action.Remaining(o.OwnerReferences)
		})))
	case action.Delete != "":
		errs = append(errs, settled(c.client.Delete(ctx, o.DeepCopy(), as, client.PropagationPolicy(action.Delete))))
	}
	return errors.Join(errs...)
}

// owner returns the owner of a reference, or nil if it is gone. If the cache does not have
// the owner, owner reads it live, because the cache may be stale.
func (c *collector) owner(ctx context.Context, namespace string,
	ref metav1.OwnerReference) (*metav1.PartialObjectMetadata, error) {
	if c.gone[ref.UID] {
		return nil, nil
	}
	owners, err := c.list(ctx, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(owners, func(o *metav1.PartialObjectMetadata) bool { return o.UID == ref.UID })
	if i >= 0 {
		return owners[i], nil
	}
	owner := &metav1.PartialObjectMetadata{}
	owner.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	err = c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, owner)
	if apierrors.IsNotFound(err) || err == nil && owner.UID != ref.UID {
		c.gone[ref.UID] = true
		return nil, nil
	}
	return owner, err
}

// finish removes the finalizer that the deletion of a Job has set. It reads the pods live,
// because a pod that the cache does not show may still have its owner reference.
func (c *collector) finish(ctx context.Context, job *metav1.PartialObjectMetadata) error {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	if err := c.client.List(ctx, pods, client.InNamespace(job.Namespace)); err != nil {
		return err
	}
	finalizer := cluster.Settled(job, func(yield func(metav1.Object) bool) {
		for i := range pods.Items {
			if !yield(&pods.Items[i]) {
				return
			}
		}
	})
	if finalizer == "" {
		return nil
	}
	return settled(c.change(ctx, job, func(job *metav1.PartialObjectMetadata) {
		job.Finalizers = slices.DeleteFunc(job.Finalizers, func(f string) bool { return f == finalizer })
	}))
}

// change patches an object if it has not changed since the cached version.
func (c *collector) change(ctx context.Context, o *metav1.PartialObjectMetadata,
	change func(*metav1.PartialObjectMetadata)) error {
	next := o.DeepCopy()
	change(next)
	return c.client.Patch(ctx, next, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
}

// settled ignores errors because an object has changed or is gone. The event of that change
// wakes the collector again.
func settled(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
