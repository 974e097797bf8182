package controller

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/machine/route"
)

type (
	jobQueue    = workqueue.TypedRateLimitingInterface[reconcile.Request]
	orphanQueue = workqueue.TypedRateLimitingInterface[orphanKey]
)

// jobChanged queues a Job at once if its spec has changed or it is gone, and after the batch
// period if only its status has changed.
func (c *controller) jobChanged(q jobQueue, before, after *batchv1.Job) {
	var wait time.Duration
	if before != nil && after != nil && before.UID == after.UID && before.Generation == after.Generation {
		wait = c.BatchPeriod
	}
	if before != nil && after != nil && jobstatus.Finished(after) != nil {
		q = prioritized[reconcile.Request]{q, soon}
	}
	if c.me.Manages(before) || c.me.Manages(after) {
		q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cmp.Or(after, before))}, wait)
	}
}

// podChanged queues the Jobs that a change of a pod concerns.
func (c *controller) podChanged(q jobQueue, before, after *corev1.Pod) {
	c.metrics.finalizerChanged(before, after)
	store := c.stores.of(cmp.Or(after, before).Namespace)
	for _, name := range route.Of(before, after, store.jobsIn, c.decide...) {
		if job := store.job(name); c.me.Manages(job) { // false for nil
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(job)}, c.BatchPeriod)
		}
	}
}

// jobChanged queues the pods that a deleted Job leaves behind. It also queues the pods of the
// namespace without a controller: if a Job is deleted without its pods, they lose their owner
// while the cache still shows the Job, and do not change again afterwards. After a broken
// watch, a Job that was deleted and created again appears as an update with another UID.
func (c orphans) jobChanged(q orphanQueue, before, after *batchv1.Job) {
	if !c.me.Manages(before) || after != nil && after.UID == before.UID {
		return
	}
	q.AddAfter(orphanKey{client.ObjectKeyFromObject(before), before.UID}, c.BatchPeriod)
	q.AddAfter(orphanKey{NamespacedName: types.NamespacedName{Namespace: before.Namespace}}, c.BatchPeriod)
}

// podChanged queues a pod that has become an orphan.
func (c orphans) podChanged(q orphanQueue, _, after *corev1.Pod) {
	if after == nil || !c.me.Frees(after, nil) {
		return
	}
	store := c.stores.of(after.Namespace)
	switch ref := metav1.GetControllerOfNoCopy(after); {
	case ref == nil:
		for _, name := range route.Of(nil, after, store.jobsIn, c.decide...) {
			if name.Name == "" {
				q.AddAfter(orphanKey{NamespacedName: name}, c.BatchPeriod)
			}
		}
	case store.ownerOf(after.Namespace, ref) == nil:
		q.AddAfter(orphanKey{types.NamespacedName{Namespace: after.Namespace, Name: ref.Name}, ref.UID}, c.BatchPeriod)
	}
}
