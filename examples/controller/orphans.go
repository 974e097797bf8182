package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// free takes the finalizer off the pods that a Job has left behind, or off those
// of a namespace that nobody controls and no Job is left to adopt. The finalizer
// would keep them from ever being deleted.
func (c *controller) free(ctx context.Context, r request) error {
	key := string(r.gone)
	if r.gone == "" {
		key = uncontrolled(r.Namespace)
	}
	if job := c.store.job(r.NamespacedName); job != nil && job.UID == r.gone {
		return nil // it has been seen since, and looks after its pods itself
	}
	var orphans []*corev1.Pod
	for _, pod := range c.store.podsUnder(key) {
		if c.me.Frees(pod, nil) && (r.gone != "" || len(c.store.selecting(pod)) == 0) {
			orphans = append(orphans, pod)
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	if r.gone != "" {
		// That the cache does not show a Job does not say that it is gone.
		live, err := c.liveJob(ctx, r.Namespace, r.Name)
		if err != nil {
			return err
		}
		if live != nil && live.UID == r.gone {
			return errStale
		}
	}
	var failed error
	for _, pod := range orphans {
		// Many take long, and a Job that is made meanwhile may adopt one. It then has
		// another version, and keeps its finalizer.
		if _, err := c.patchPod(ctx, pod, c.me.Keys.StripPatchAt(pod)); err != nil && !apierrors.IsNotFound(err) {
			failed = fmt.Errorf("freeing pod %s: %w", pod.Name, err)
		}
	}
	return failed
}
