package main

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/tracking"
)

// batchPeriod is how long a Job waits for more of its pods to change before it is
// looked at, so that many pods cost one status write.
const batchPeriod = time.Second

// watches are the informers of Jobs and pods. They are client-go's, and not those
// of the manager's cache, for the sake of their indexers: see store. They run
// whether or not this process leads, so that a new leader need not fill them.
type watches struct {
	factory    informers.SharedInformerFactory
	jobs, pods cache.SharedIndexInformer
}

func newWatches(client kubernetes.Interface, namespace string) (*watches, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(slim))
	w := &watches{factory, factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer()}
	return w, w.pods.AddIndexers(cache.Indexers{byJob: indexByJob})
}

// slim drops what is large and never looked at before an object gets into the
// cache.
func slim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func (w *watches) store() store { return store{jobs: w.jobs.GetIndexer(), pods: w.pods.GetIndexer()} }

// Start runs the informers until the context ends.
func (w *watches) Start(ctx context.Context) error {
	w.factory.Start(ctx.Done())
	<-ctx.Done()
	w.factory.Shutdown()
	return nil
}

// NeedLeaderElection says that the informers run in every process.
func (w *watches) NeedLeaderElection() bool { return false }

func (w *watches) synced() bool { return w.jobs.HasSynced() && w.pods.HasSynced() }

// sources are what wakes the controller. No turn begins before both have shown
// all that was there.
func (w *watches) sources(c *controller) []source.Source {
	return []source.Source{
		syncing{&source.Informer{Informer: w.jobs, Handler: c.jobHandler()}, w},
		syncing{&source.Informer{Informer: w.pods, Handler: c.podHandler()}, w},
	}
}

type syncing struct {
	*source.Informer
	watches *watches
}

func (s syncing) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.watches.synced) {
		return errors.New("the caches of Jobs and pods have not been filled")
	}
	return nil
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// jobHandler wakes a Job at once when its spec changes, and after the batch
// period when only its status does.
func (c *controller) jobHandler() handler.EventHandler {
	mine := func(obj any) (*batchv1.Job, bool) {
		job, ok := obj.(*batchv1.Job)
		return job, ok && c.me.Manages(job)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if job, ok := mine(e.Object); ok {
				q.Add(requestFor(job.Namespace, job.Name))
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			old, wasMine := mine(e.ObjectOld)
			job, isMine := mine(e.ObjectNew)
			switch {
			case !wasMine && !isMine:
			case job.Generation != old.Generation || job.UID != old.UID:
				q.Add(requestFor(job.Namespace, job.Name))
			default:
				q.AddAfter(requestFor(job.Namespace, job.Name), batchPeriod)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if job, ok := mine(e.Object); ok {
				q.Add(requestFor(job.Namespace, job.Name))
			}
		},
	}
}

// podHandler wakes the Job of a pod after the batch period.
func (c *controller) podHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			pod := e.Object.(*corev1.Pod)
			c.metrics.gauged(nil, pod)
			c.wake(pod, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			old, pod := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
			c.metrics.gauged(old, pod)
			before, _ := jobOf(old)
			after, _ := jobOf(pod)
			moved := before != after
			if moved && before.Name != "" {
				c.wake(old, q)
			}
			// A pod without a controller concerns nobody before somebody may adopt it.
			if after.Name != "" || moved || tracking.HasFinalizer(pod) || !maps.Equal(old.Labels, pod.Labels) {
				c.wake(pod, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			pod := e.Object.(*corev1.Pod)
			c.metrics.gauged(pod, nil)
			if key, ok := jobOf(pod); ok && key.Name != "" {
				c.wake(pod, q)
			}
		},
	}
}

// wake wakes those that a pod concerns: its Job, the Jobs that may adopt it, or
// whoever frees it when nobody else is left to do it.
func (c *controller) wake(pod *corev1.Pod, q queue) {
	key, ok := jobOf(pod)
	if !ok {
		return
	}
	if key.Name == "" {
		jobs := c.store.selecting(pod)
		for _, job := range jobs {
			if c.me.Manages(job) {
				q.AddAfter(requestFor(job.Namespace, job.Name), batchPeriod)
			}
		}
		if len(jobs) > 0 {
			return
		}
	} else if job := c.store.job(key); job != nil && metav1.IsControlledBy(pod, job) {
		if c.me.Manages(job) {
			q.AddAfter(reconcile.Request{NamespacedName: key}, batchPeriod)
		}
		return
	}
	if tracking.HasFinalizer(pod) {
		q.AddAfter(reconcile.Request{NamespacedName: key}, batchPeriod)
	}
}

func requestFor(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
