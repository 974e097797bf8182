package chaos_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// jobReconciler is the controller under test. It carries out the decisions of a Machine for
// each Job.
type jobReconciler struct {
	client.Client
	live     client.Reader
	machines map[types.NamespacedName]*jobfate.Machine
}

// newJobReconciler is called for each start of the controller, so the memory is lost with the
// process.
func newJobReconciler(env *chaos.Env) reconcile.Reconciler {
	return &jobReconciler{env.Client, env.Live, map[types.NamespacedName]*jobfate.Machine{}}
}

// Reconcile implements [reconcile.Reconciler]. The View names no versions of the caches, so
// the Machine reads live before it writes.
func (r *jobReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var jobs batchv1.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	view := jobfate.View{Now: time.Now()}
	all := make([]*batchv1.Job, len(jobs.Items))
	for i := range jobs.Items {
		all[i] = &jobs.Items[i]
		if all[i].Name == request.Name {
			view.Job = all[i]
		}
	}
	for i := range pods.Items {
		view.Pods = append(view.Pods, &pods.Items[i])
	}
	send := func(q jobfate.Request) (runtime.Object, error) { return r.send(ctx, q) }
	for _, orphans := range jobfate.OrphansIn(view.Pods, all) {
		if err := orphans.Run(send).Err; err != nil {
			return reconcile.Result{}, err
		}
	}
	m := r.machines[request.NamespacedName]
	if m == nil {
		m = jobfate.NewMachine()
		r.machines[request.NamespacedName] = m
	}
	if err := m.Begin(view); err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	result := m.Run(send)
	if result.Err != nil && result.Requeue > 0 { // an error would discard the requeue, and a deadline with it
		return reconcile.Result{RequeueAfter: min(result.Requeue, time.Second)}, nil
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, result.Err
}

// send sends a request of a Machine.
func (r *jobReconciler) send(ctx context.Context, q jobfate.Request) (runtime.Object, error) {
	key := client.ObjectKey{Namespace: q.Namespace, Name: q.Name}
	meta := metav1.ObjectMeta{Namespace: q.Namespace, Name: q.Name}
	job, pod, list := &batchv1.Job{ObjectMeta: meta}, &corev1.Pod{ObjectMeta: meta}, &corev1.PodList{}
	switch q.Verb {
	case jobfate.GetJob:
		return job, r.live.Get(ctx, key, job)
	case jobfate.ListPods:
		return list, r.live.List(ctx, list, client.InNamespace(q.Namespace))
	case jobfate.GetPod:
		return pod, r.live.Get(ctx, key, pod)
	case jobfate.CreatePod:
		return q.Pod, r.Create(ctx, q.Pod)
	case jobfate.PatchPod:
		return pod, r.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, q.Patch))
	case jobfate.DeletePod:
		return nil, r.Delete(ctx, pod, client.Preconditions(*q.Options.Preconditions))
	case jobfate.PatchStatus:
		return job, r.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, q.Patch))
	}
	return nil, fmt.Errorf("unknown request: %s", q.Verb)
}

// The test is one call with the factory of the Reconciler.
func ExampleTest() {
	var t *testing.T // the argument of your TestReconciler
	chaos.Test(t, newJobReconciler)
}
