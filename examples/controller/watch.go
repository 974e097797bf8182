package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// watch holds the informers of Jobs and pods. They are client-go's, and not those
// of the manager's cache, for the sake of their indexers: see store.
type watch struct {
	client     kubernetes.Interface
	namespace  string
	factory    informers.SharedInformerFactory
	jobs, pods cache.SharedIndexInformer
	store      *store
	beginning  sync.Mutex
}

func newWatch(client kubernetes.Interface, namespace string) (*watch, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(slim), informers.WithTweakListOptions(consistent))
	w := &watch{client: client, namespace: namespace, factory: factory,
		jobs: factory.Batch().V1().Jobs().Informer(), pods: factory.Core().V1().Pods().Informer()}
	w.store = &store{jobs: w.jobs.GetIndexer(), pods: w.pods.GetIndexer()}
	return w, w.pods.AddIndexers(cache.Indexers{byController: controllerIndex})
}

// slim drops what is large and never looked at, before an object gets into the
// cache.
func slim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// consistent makes the first list show at least what was there when it was asked for:
// 0 would be any version that the API server happens to have.
func consistent(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
}

func (w *watch) synced() bool { return w.jobs.HasSynced() && w.pods.HasSynced() }

// begin reads the barrier, and only then starts the informers, whose caches have thus
// reached it as soon as they are filled. It is called once this process leads.
func (w *watch) begin(ctx context.Context) error {
	w.beginning.Lock()
	defer w.beginning.Unlock()
	if w.store.barrier != "" {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			log.FromContext(ctx).Error(err, "Listing a pod failed")
			return false, nil
		}
		w.store.barrier = list.ResourceVersion
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("listing a pod: %w", err)
	}
	w.factory.Start(ctx.Done())
	return nil
}

// source fills the queue of a controller with what changes concern. What is before a
// change is nil for a new object, and what is after it for one that is gone.
type source[T comparable] struct {
	*watch
	job func(q workqueue.TypedRateLimitingInterface[T], before, after *batchv1.Job)
	pod func(q workqueue.TypedRateLimitingInterface[T], before, after *corev1.Pod)
}

// Start is called once this process leads.
func (s source[T]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
	return errors.Join(
		handle(s.jobs, func(before, after *batchv1.Job) { s.job(q, before, after) }),
		handle(s.pods, func(before, after *corev1.Pod) { s.pod(q, before, after) }),
		s.begin(ctx),
	)
}

// WaitForSync holds the workers back until the caches are filled.
func (s source[T]) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return errors.New("the caches of Jobs and pods have not been filled")
	}
	return nil
}

func (s source[T]) String() string { return "Jobs and pods" }

func handle[O any](informer cache.SharedIndexInformer, changed func(before, after *O)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { changed(nil, obj.(*O)) },
		UpdateFunc: func(old, obj any) { changed(old.(*O), obj.(*O)) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			changed(obj.(*O), nil)
		},
	})
	return err
}
