package clientgo

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// Random schedules of faults for the client-go controller of docs/adopting.md. The schedule calls
// sync itself, for the Job and for the pods without a controller.
func TestSchedules(t *testing.T) {
	config := chaos.Config{Schedules: 300, ManagedBy: "example.com/jobs", Requests: []string{"default/", "other/"}}
	config.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		client, err := kubernetes.NewForConfig(env.Config())
		if err != nil {
			t.Error(err)
		}
		if err := env.Informer(&corev1.Pod{}).AddIndexers(cache.Indexers{"job": jobOfPod}); err != nil {
			t.Error(err)
		}
		c := &Controller{Client: client, Name: config.ManagedBy, jobs: env.Jobs, pods: env.Pods}
		return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			c.barrier = env.Barrier()
			again, err := c.sync(ctx, request.String())
			if err != nil && again > 0 { // an error would discard it
				again, err = min(again, time.Second), nil
			}
			return reconcile.Result{RequeueAfter: again}, err
		})
	})
}
