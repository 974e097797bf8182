package controller

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/tracking"
)

// The two controllers, of Jobs and of orphans, under random schedules of faults.
func TestSchedules(t *testing.T) {
	c := chaos.Config{ManagedBy: managedBy, Requests: []string{"default/"}}
	c.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		c, err := scheduled(env)
		if err != nil {
			t.Error(err)
			return nil
		}
		return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			c.stores[""].barrier = env.Barrier()
			if r.Name != "" {
				return c.Reconcile(ctx, r)
			}
			return reconcile.Result{}, freeAll(ctx, c)
		})
	})
}

// scheduled returns a controller that uses the caches and the API server of a schedule.
func scheduled(env *chaos.Env) (*controller, error) {
	server, errServer := kubernetes.NewForConfig(env.Config())
	o, errOptions := Options{ManagedBy: managedBy}.complete()
	if err := errors.Join(errServer, errOptions, env.Pods.AddIndexers(cache.Indexers{byController: controllerIndex(tracking.Controller{Name: managedBy})})); err != nil {
		return nil, err
	}
	c, err := newController(o, jobsOf(server))
	if err != nil {
		return nil, err
	}
	c.stores[""] = &store{jobs: env.Jobs, pods: env.Pods}
	c.recorder = &record.FakeRecorder{}
	env.RateLimiter = c.retries
	c.metrics, err = newMetrics(prometheus.NewRegistry(), tracking.Keys{})
	return c, err
}

// freeAll frees all orphans in the cache, with and without an owner.
func freeAll(ctx context.Context, c *controller) (failed error) {
	var all []orphanKey
	for _, namespace := range []string{"default", "other"} {
		all = append(all, orphanKey{NamespacedName: types.NamespacedName{Namespace: namespace}})
	}
	for _, obj := range c.stores[""].pods.List() {
		pod := obj.(*corev1.Pod)
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == "Job" && ref.APIVersion == batchv1.SchemeGroupVersion.String() {
			all = append(all, orphanKey{types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}, ref.UID})
		}
	}
	for i, r := range all {
		if slices.Contains(all[:i], r) {
			continue
		}
		_, err := orphans{c}.Reconcile(ctx, r)
		failed = errors.Join(failed, err)
	}
	return failed
}
