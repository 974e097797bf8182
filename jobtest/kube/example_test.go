package kube_test

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// The test calls a Reconciler directly, controls what its cache shows, and rejects one
// status update.
func Example() {
	s := kube.New(kube.Options{})
	cache := s.NewCache(scheme.Scheme)
	c, _ := s.Client("controller", scheme.Scheme, cache)
	ctx := context.Background()
	reconcile := func() {
		_, err := (&jobReconciler{c}).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "a"}})
		job, _ := kube.Get[*batchv1.Job](s, "default", "a")
		fmt.Printf("%d pods, %d succeeded, conflict: %t\n", len(kube.List[*corev1.Pod](s, "")), job.Status.Succeeded, apierrors.IsConflict(err))
	}

	_ = c.Create(ctx, podtest.PlainJob("a"))
	reconcile() // the cache does not show the Job yet
	cache.CatchUp()
	reconcile()

	kubelet := kube.Kubelet{Server: s}
	for kubelet.Step(func(*corev1.Pod) (int32, bool) { return 0, true }) {
	}
	cache.CatchUp()
	s.Intercept(func(r *kube.Request) kube.Verdict {
		if r.Subresource == "status" {
			s.Intercept(nil)
			return kube.Verdict{Err: apierrors.NewConflict(r.Resource.GroupResource(), r.Name, fmt.Errorf("try again"))}
		}
		return kube.Verdict{}
	})
	reconcile()
	reconcile()
	// Output:
	// 0 pods, 0 succeeded, conflict: false
	// 1 pods, 0 succeeded, conflict: false
	// 1 pods, 0 succeeded, conflict: true
	// 1 pods, 1 succeeded, conflict: false
}
