package main

import (
	"context"
	"errors"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobfate/jobfate/tracking"
)

// batchPeriod is how long a Job waits for more of its pods to change before it is
// looked at, so that many pods cost one status write.
const batchPeriod = time.Second

// request asks for a turn. With a name it is for that Job; with a UID as well, for
// the pods that a Job of that UID has left behind; without a name, for the pods of
// the namespace that nobody controls.
type request struct {
	types.NamespacedName
	gone types.UID
}

type queue = workqueue.TypedRateLimitingInterface[request]

// watch holds the informers of Jobs and pods. They are client-go's, and not those
// of the manager's cache, for the sake of their indexers: see store.
type watch struct {
	factory    informers.SharedInformerFactory
	jobs, pods cache.SharedIndexInformer
	controller *controller
}

func newWatch(client kubernetes.Interface, namespace string) (*watch, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(slim))
	w := &watch{factory: factory, jobs: factory.Batch().V1().Jobs().Informer(), pods: factory.Core().V1().Pods().Informer()}
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

func (w *watch) store() store { return store{jobs: w.jobs.GetIndexer(), pods: w.pods.GetIndexer()} }

func (w *watch) synced() bool { return w.jobs.HasSynced() && w.pods.HasSynced() }

// Start is called once this process leads, and fills the queue from then on.
func (w *watch) Start(_ context.Context, q queue) error {
	c := w.controller
	_, err := w.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { c.jobChanged(q, nil, obj.(*batchv1.Job)) },
		UpdateFunc: func(old, obj any) {
			c.jobChanged(q, old.(*batchv1.Job), obj.(*batchv1.Job))
		},
		DeleteFunc: func(obj any) { c.jobGone(q, last[*batchv1.Job](obj)) },
	})
	_, podErr := w.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.podChanged(q, nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(old, obj any) { c.podChanged(q, old.(*corev1.Pod), obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) { c.podChanged(q, last[*corev1.Pod](obj), nil) },
	})
	return errors.Join(err, podErr)
}

// WaitForSync holds the workers back until the caches are filled.
func (w *watch) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), w.synced) {
		return errors.New("the caches of Jobs and pods have not been filled")
	}
	return nil
}

// last returns an object that is gone as it was last seen.
func last[T any](obj any) T {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	return obj.(T)
}

// jobChanged wakes a Job at once when its spec has changed, and after the batch
// period when only its status has. After a watch has broken, a Job that was made
// again under its name shows as a change, and the earlier one is gone.
func (c *controller) jobChanged(q queue, old, job *batchv1.Job) {
	if old != nil && old.UID != job.UID {
		c.jobGone(q, old)
	}
	switch {
	case !c.me.Manages(job) && !c.me.Manages(old):
	case old == nil || old.Generation != job.Generation || old.UID != job.UID:
		q.Add(request{NamespacedName: nameOf(job)})
	default:
		q.AddAfter(request{NamespacedName: nameOf(job)}, batchPeriod)
	}
}

// jobGone wakes whoever frees the pods of a Job, also those that have lost their
// owner while the Job could still be seen: when it is deleted and its pods are not,
// they change for the last time before it goes.
func (c *controller) jobGone(q queue, job *batchv1.Job) {
	if c.me.Manages(job) {
		q.Add(request{NamespacedName: nameOf(job)})
		q.AddAfter(request{nameOf(job), job.UID}, batchPeriod)
		q.AddAfter(request{NamespacedName: types.NamespacedName{Namespace: job.Namespace}}, batchPeriod)
	}
}

// podChanged wakes those that a pod concerns; before is nil when it is new, and
// after when it is gone.
func (c *controller) podChanged(q queue, before, after *corev1.Pod) {
	c.metrics.gauged(before, after)
	if after == nil {
		c.wake(q, before)
		return
	}
	owner := metav1.GetControllerOfNoCopy(after)
	if before != nil {
		was := metav1.GetControllerOfNoCopy(before)
		moved := was != nil && (owner == nil || was.UID != owner.UID)
		if moved {
			c.wake(q, before)
		}
		if owner == nil && !moved && !(tracking.Keys{}).HasFinalizer(after) && maps.Equal(before.Labels, after.Labels) {
			return // it concerns nobody, as before
		}
	}
	c.wake(q, after)
}

// wake wakes the Job of a pod; without one the Jobs that may adopt it, or else
// whoever frees it.
func (c *controller) wake(q queue, pod *corev1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		jobs := c.store.selecting(pod)
		for _, job := range jobs {
			if c.me.Manages(job) {
				q.AddAfter(request{NamespacedName: nameOf(job)}, batchPeriod)
			}
		}
		if len(jobs) == 0 && (tracking.Keys{}).HasFinalizer(pod) {
			q.AddAfter(request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace}}, batchPeriod)
		}
		return
	}
	name := types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}
	job := c.store.job(name)
	switch {
	case job != nil && job.UID == ref.UID:
		if c.me.Manages(job) {
			q.AddAfter(request{NamespacedName: name}, batchPeriod)
		}
	case c.me.Frees(pod, nil):
		q.AddAfter(request{name, ref.UID}, batchPeriod)
	}
}

func nameOf(job *batchv1.Job) types.NamespacedName {
	return types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
}
