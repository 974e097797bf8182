package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
)

// orphaned are the pods that the Job of a name and UID has left behind, or, without
// both, the pods of a namespace that nothing controls and no Job selects.
type orphaned struct {
	types.NamespacedName
	job types.UID
}

// orphans takes the finalizer off pods that no Job is left to count. It has a queue of
// its own, so that many orphans keep no Job waiting.
type orphans struct{ *controller }

// Reconcile frees orphans.
func (c orphans) Reconcile(ctx context.Context, r orphaned) (reconcile.Result, error) {
	var failed error
	for _, m := range c.find(r) {
		if !c.drive(ctx, m, nil, orphansInFlight) {
			return reconcile.Result{}, nil // it is to stop
		}
		if err := m.Result().Err; err != nil && (failed == nil || expected(failed)) {
			failed = err
		}
	}
	return reconcile.Result{}, failed
}

// find returns what frees the orphans.
func (c orphans) find(r orphaned) []*jobfate.Machine {
	store := c.stores.of(r.Namespace)
	if r.job == "" {
		return jobfate.OrphansIn(store.podsUnder(uncontrolled(r.Namespace)), store.jobsIn(r.Namespace), c.decide...)
	}
	var jobs []*batchv1.Job
	if job := store.job(r.NamespacedName); job != nil {
		jobs = append(jobs, job)
	}
	return jobfate.OrphansIn(store.podsUnder(string(r.job)), jobs, c.decide...)
}
