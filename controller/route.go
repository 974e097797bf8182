package controller

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
)

type (
	jobQueue    = workqueue.TypedRateLimitingInterface[reconcile.Request]
	orphanQueue = workqueue.TypedRateLimitingInterface[orphaned]
)

// jobChanged wakes a Job at once when its spec has changed or it is gone, and after
// the batch period when only its status has.
func (c *controller) jobChanged(q jobQueue, before, after *batchv1.Job) {
	var wait time.Duration
	if before != nil && after != nil && before.UID == after.UID && before.Generation == after.Generation {
		wait = c.BatchPeriod
	}
	if c.me.Manages(before) || c.me.Manages(after) {
		q.AddAfter(reconcile.Request{NamespacedName: nameOf(cmp.Or(after, before))}, wait)
	}
}

// podChanged wakes the Jobs that a change of a pod concerns.
func (c *controller) podChanged(q jobQueue, before, after *corev1.Pod) {
	c.metrics.gauged(before, after)
	store := c.stores.of(cmp.Or(after, before).Namespace)
	for _, name := range jobfate.RouteOf(before, after, store.jobsIn, c.decide...) {
		c.wake(q, store.job(name))
	}
}

// wake has a Job of this controller looked at; nil is none.
func (c *controller) wake(q jobQueue, job *batchv1.Job) {
	if c.me.Manages(job) {
		q.AddAfter(reconcile.Request{NamespacedName: nameOf(job)}, c.BatchPeriod)
	}
}

// jobChanged has the pods freed that a Job leaves behind, also those that have lost
// their owner while the Job could still be seen: when it is deleted and its pods are
// not, they change for the last time before it goes. After a watch has broken, a Job
// that was made again under its name shows as a change, and the earlier one is gone.
func (c orphans) jobChanged(q orphanQueue, before, after *batchv1.Job) {
	if !c.me.Manages(before) || after != nil && after.UID == before.UID {
		return
	}
	q.AddAfter(orphaned{nameOf(before), before.UID}, c.BatchPeriod)
	q.AddAfter(orphaned{NamespacedName: types.NamespacedName{Namespace: before.Namespace}}, c.BatchPeriod)
}

// podChanged has a pod freed that is an orphan now.
func (c orphans) podChanged(q orphanQueue, _, after *corev1.Pod) {
	if after == nil || !c.me.Frees(after, nil) {
		return
	}
	store := c.stores.of(after.Namespace)
	switch ref := metav1.GetControllerOfNoCopy(after); {
	case ref == nil:
		for _, name := range jobfate.RouteOf(nil, after, store.jobsIn, c.decide...) {
			if name.Name == "" {
				q.AddAfter(orphaned{NamespacedName: name}, c.BatchPeriod)
			}
		}
	case store.ownerOf(after.Namespace, ref) == nil:
		q.AddAfter(orphaned{types.NamespacedName{Namespace: after.Namespace, Name: ref.Name}, ref.UID}, c.BatchPeriod)
	}
}
