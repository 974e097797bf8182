package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
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
	owner, pods := c.find(r)
	if len(pods) == 0 {
		return reconcile.Result{}, nil
	}
	m := jobfate.NewOrphans(owner, pods, c.options...)
	over := c.drive(ctx, m, orphansAtATime)
	switch err := m.Err(); {
	case !over || err == nil:
		return reconcile.Result{}, nil
	case expected(err):
		log.FromContext(ctx).V(1).Info("Freeing again", "because", err)
		return reconcile.Result{RequeueAfter: batchPeriod}, nil
	default:
		return reconcile.Result{}, err
	}
}

// find returns orphans, and the owner that they name.
func (c orphans) find(r orphaned) (owner *metav1.OwnerReference, found []*corev1.Pod) {
	if r.job == "" {
		for _, pod := range c.store.podsUnder(uncontrolled(r.Namespace)) {
			if c.me.Frees(pod, nil) && len(c.store.selecting(pod)) == 0 {
				found = append(found, pod)
			}
		}
		return nil, found
	}
	for _, pod := range c.store.podsUnder(string(r.job)) {
		owner = metav1.GetControllerOf(pod)
		if c.me.Frees(pod, nil) && c.store.ownerOf(r.Namespace, owner) == nil {
			found = append(found, pod)
		}
	}
	return owner, found
}
