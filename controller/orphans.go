package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// orphanKey identifies the pods that a deleted Job has left behind. Without a name and a UID, it
// identifies the pods of a namespace that have no controller and that no Job of this controller selects.
type orphanKey struct {
	types.NamespacedName
	job types.UID
}

// orphans removes the finalizer from pods whose Job is gone. It has its own queue, so that
// many orphans do not delay Jobs.
type orphans struct{ *controller }

// Reconcile frees orphans.
func (c orphans) Reconcile(ctx context.Context, r orphanKey) (reconcile.Result, error) {
	var failed error
	for _, m := range c.find(r) {
		if !c.drive(ctx, m, orphansInFlight) {
			return unfinished(ctx), nil
		}
		if err := m.Result().Err; err != nil && (failed == nil || expected(failed)) {
			failed = err
		}
	}
	return reconcile.Result{}, failed
}

// find returns the Machines that free the orphans.
func (c orphans) find(r orphanKey) []*machine.Machine {
	store := c.stores.of(r.Namespace)
	if r.job == "" {
		return route.OrphansIn(store.pods.under(groupKey{namespace: r.Namespace}), store.jobsIn(r.Namespace),
			c.decide...)
	}
	var jobs []*batchv1.Job
	if job := store.job(r.NamespacedName); job != nil {
		jobs = append(jobs, job)
	}
	return route.OrphansIn(store.pods.under(groupKey{r.Namespace, r.job}), jobs, c.decide...)
}
