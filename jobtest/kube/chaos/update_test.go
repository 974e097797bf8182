package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
)

// A Reconciler that writes by updates, and by merge patches of the metadata, violates no property.
// It applies the patches of its Machine to objects that it reads live.
func TestUpdates(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r := newReconciler(env)
		send, n := r.send, 0
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			key := types.NamespacedName{Namespace: q.Namespace, Name: q.Name}
			switch q.Verb {
			case machine.PatchPod:
				pod := &corev1.Pod{}
				if err := r.live.Get(ctx, key, pod); err != nil {
					return nil, err
				}
				before := pod.DeepCopy()
				if err := patched(pod, q.Patch, func(doc, patch []byte) ([]byte, error) {
					return strategicpatch.StrategicMergePatch(doc, patch, pod)
				}); err != nil {
					return nil, err
				}
				if n++; n%2 == 0 || pod.UID != before.UID || pod.ResourceVersion != before.ResourceVersion {
					return pod, r.Update(ctx, pod)
				}
				return pod, r.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
			case machine.PatchStatus:
				job := &batchv1.Job{}
				if err := r.live.Get(ctx, key, job); err != nil {
					return nil, err
				}
				if err := patched(job, q.Patch, jsonpatch.MergePatch); err != nil {
					return nil, err
				}
				return job, r.Status().Update(ctx, job)
			}
			return send(ctx, q)
		}
		return r
	})
}

// patched applies a patch to an object.
func patched[T any](o *T, patch []byte, apply func(doc, patch []byte) ([]byte, error)) error {
	doc, err := json.Marshal(o)
	next, errPatch := apply(doc, patch)
	*o = *new(T)
	return errors.Join(err, errPatch, json.Unmarshal(next, o))
}
