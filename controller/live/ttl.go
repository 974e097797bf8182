package live

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobstatus"
)

// addTTL adds a controller that deletes Jobs when their ttlSecondsAfterFinished has passed.
func addTTL(mgr manager.Manager) error {
	expire := func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		job := &batchv1.Job{}
		if err := mgr.GetClient().Get(ctx, r.NamespacedName, job); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		ended := jobstatus.Finished(job)
		if ended == nil || job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
			return reconcile.Result{}, nil
		}
		ttl := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
		if left := time.Until(ended.LastTransitionTime.Add(ttl)); left > 0 {
			return reconcile.Result{RequeueAfter: left}, nil
		}
		return reconcile.Result{}, settled(mgr.GetClient().Delete(ctx, job,
			client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}))
	}
	return ctrl.NewControllerManagedBy(mgr).Named("ttl-after-finished").For(&batchv1.Job{}).
		Complete(reconcile.Func(expire))
}
