package chaos_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// queueing is a controller with a work queue of its own, which event handlers and requeues
// fill. The queue has goroutines, and must be shut down with the process.
type queueing struct {
	*reconciler
	queue workqueue.TypedDelayingInterface[types.NamespacedName]
}

func newQueueing(t *testing.T, env *chaos.Env) reconcile.Reconciler {
	q := &queueing{newReconciler(env), workqueue.NewTypedDelayingQueue[types.NamespacedName]()}
	context.AfterFunc(env.Context(), q.queue.ShutDown)
	changed := cache.ResourceEventHandlerFuncs{AddFunc: q.changed, UpdateFunc: func(_, now any) { q.changed(now) }, DeleteFunc: q.changed}
	_, errJobs := env.Informer(&batchv1.Job{}).AddEventHandler(changed)
	_, errPods := env.Informer(&corev1.Pod{}).AddEventHandler(changed)
	if err := errors.Join(errJobs, errPods); err != nil {
		t.Error(err)
	}
	return q
}

// changed adds the Jobs that a change may concern.
func (q *queueing) changed(obj any) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	o := obj.(client.Object)
	if _, ok := o.(*batchv1.Job); ok {
		q.queue.Add(client.ObjectKeyFromObject(o))
		return
	}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		q.queue.Add(types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name})
	}
	for _, job := range q.env.Jobs.List() { // one of them may adopt the pod
		q.queue.Add(client.ObjectKeyFromObject(job.(client.Object)))
	}
}

// Reconcile works until the queue is empty, when it is called for all Jobs.
func (q *queueing) Reconcile(ctx context.Context, request reconcile.Request) (next reconcile.Result, failed error) {
	if request.Name != "" {
		return next, nil
	}
	synctest.Wait() // the queue adds what is due
	var retry []types.NamespacedName
	for q.queue.Len() > 0 {
		key, _ := q.queue.Get()
		result, err := q.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		q.queue.Done(key)
		if err != nil {
			failed, retry = errors.Join(failed, err), append(retry, key)
		}
		if after := result.RequeueAfter; after > 0 {
			q.queue.AddAfter(key, after)
			if next.RequeueAfter == 0 || after < next.RequeueAfter {
				next.RequeueAfter = after
			}
		}
	}
	for _, key := range retry {
		q.queue.Add(key)
	}
	return next, failed
}

// A controller with a work queue violates no property.
func TestQueue(t *testing.T) {
	chaos.Config{Schedules: 60, Requests: []string{"default/"}}.Test(t, func(env *chaos.Env) reconcile.Reconciler { return newQueueing(t, env) })
}

// The context of a process has ended when the next process starts, and at the end.
func TestContext(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(*chaos.Env) reconcile.Reconciler){
		"Config": chaos.Config{Schedules: 1, Without: []string{"second leader"}}.Test,
		"Creator": func(t *testing.T, factory func(*chaos.Env) reconcile.Reconciler) {
			one := twoJobs
			one.Schedules = 1
			one.Test(t, factory)
		},
	} {
		t.Run(name, func(t *testing.T) {
			starts, running := 0, atomic.Int32{}
			run(t, func(env *chaos.Env) reconcile.Reconciler {
				if synctest.Wait(); running.Load() > 0 {
					t.Error("a process starts, but the context of the last one goes on")
				}
				starts++
				running.Add(1)
				go func() { // would block forever in the bubble
					<-env.Context().Done()
					running.Add(-1)
				}()
				if name == "Creator" {
					return newTrainer(env)
				}
				return newReconciler(env)
			})
			if starts < 2 || running.Load() > 0 {
				t.Errorf("%d processes were started, want several; %d contexts go on", starts, running.Load())
			}
		})
	}
}
