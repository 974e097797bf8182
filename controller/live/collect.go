package live

import (
	"context"
	"errors"
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

	"github.com/jobfate/jobfate/jobtest/cluster"
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
		errs = append(errs, c.collect(ctx, o, pods))
	}
	return errors.Join(errs...)
}

// collect does with an object what its owners and its own deletion require.
func (c *collector) collect(ctx context.Context, o *metav1.PartialObjectMetadata,
	pods []*metav1.PartialObjectMetadata) error {
	var errs []error
	if o.DeletionTimestamp != nil && o.Kind == jobKind.Kind {
		// A pod that the cache does not show may still have the owner reference.
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
		if err := c.client.List(ctx, list, client.InNamespace(o.Namespace)); err != nil {
			return err
		}
		pods = nil
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
	}
	action := cluster.GarbageActionOf(o, func(ref metav1.OwnerReference) metav1.Object {
		owner, err := c.owner(ctx, o.Namespace, ref)
		switch errs = append(errs, err); {
		case err != nil:
			return o // unknown, so it stays
		case owner == nil:
			return nil
		}
		return owner
	}, cluster.Objects(pods))
	// The object may have lost its owner reference since the cached version. Then the
	// precondition keeps it.
	as := client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}
	switch {
	case action.Edits():
		next := o.DeepCopy()
		action.Edit(next)
		unchanged := client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{})
		errs = append(errs, settled(c.client.Patch(ctx, next, unchanged)))
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

// settled ignores errors because an object has changed or is gone. The event of that change
// wakes the collector again.
func settled(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
