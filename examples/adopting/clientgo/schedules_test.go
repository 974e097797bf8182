package clientgo

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// queued is a queue without workers.
type queued struct {
	workqueue.TypedRateLimitingInterface[string] // nil
	keys                                         map[string]bool
}

func (q queued) Add(key string)                       { q.keys[key] = true }
func (q queued) AddAfter(key string, _ time.Duration) { q.Add(key) }

// Random schedules of faults for the client-go controller of docs/adopting.md. The schedule calls
// sync itself, for the Job and, if they are queued, for the pods without a controller.
func TestSchedules(t *testing.T) {
	config := chaos.Config{Schedules: 300, ManagedBy: "example.com/jobs", Requests: []string{"default/", "other/"}}
	config.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		client, err := kubernetes.NewForConfig(env.Config())
		jobs, pods, queue := env.Informer(&batchv1.Job{}), env.Informer(&corev1.Pod{}), queued{keys: map[string]bool{}}
		c := &Controller{Client: client, Name: config.ManagedBy, jobs: env.Jobs, pods: env.Pods, queue: queue}
		errWatch := c.watch(jobs, pods)
		if err := errors.Join(err, errWatch); err != nil {
			t.Error(err)
		}
		return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			key := request.String()
			if request.Name == "" && !queue.keys[key] {
				return reconcile.Result{}, nil
			}
			delete(queue.keys, key)
			c.barrier = env.Barrier()
			again, err := c.sync(ctx, key)
			if err != nil {
				queue.Add(key)
			}
			if err != nil && again > 0 { // an error would discard it
				again, err = min(again, time.Second), nil
			}
			return reconcile.Result{RequeueAfter: again}, err
		})
	})
}
