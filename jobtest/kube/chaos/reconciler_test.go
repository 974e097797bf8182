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

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
)

// The correct Reconciler violates no property. If it does not name the versions of its caches, the
// Machine reads live before it writes.
func TestCorrectReconciler(t *testing.T) {
	versionless := looking(func(v *machine.View) { v.JobsVersion, v.PodsVersion = "", "" })
	t.Run("with versions", func(t *testing.T) {
		chaos.Test(t, func(env *chaos.Env) reconcile.Reconciler { return newReconciler(env) })
	})
	t.Run("without versions", func(t *testing.T) { chaos.Config{Schedules: 300}.Test(t, with(versionless)) })
}

// reconciler carries out the decisions of a Machine for each Job. Its fields inject bugs.
type reconciler struct {
	client.Client
	live     client.Reader
	env      *chaos.Env
	machines map[types.NamespacedName]*machine.Machine

	send func(context.Context, machine.Request) (runtime.Object, error)

	key func(types.NamespacedName) types.NamespacedName // the key under which a Machine is kept
	// Functions by which a bug changes the view, the requests, the answers and the result.
	beforeBegin func(ctx context.Context, m *machine.Machine, v *machine.View)
	ask         func(ctx context.Context, q *machine.Request) (runtime.Object, bool)
	got         func(q machine.Request, o runtime.Object, err error) (runtime.Object, error)
	last        func(machine.Result) (reconcile.Result, error)
}

// newReconciler is called for each start of the controller, so the memory is lost with the process.
func newReconciler(env *chaos.Env) *reconciler {
	r := &reconciler{Client: env.Client, live: env.Live, env: env, machines: map[types.NamespacedName]*machine.Machine{}}
	r.send = r.serve
	return r
}

// machineOf returns the Machine of a Job.
func (r *reconciler) machineOf(name types.NamespacedName) *machine.Machine {
	if r.key != nil {
		name = r.key(name)
	}
	if r.machines[name] == nil {
		r.machines[name] = machine.New()
	}
	return r.machines[name]
}

// Reconcile implements [reconcile.Reconciler].
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	v := machine.View{Now: time.Now(), JobsVersion: r.env.Jobs.LastStoreSyncResourceVersion(),
		PodsVersion: r.env.Pods.LastStoreSyncResourceVersion()}
	job := &batchv1.Job{}
	switch err := r.Get(ctx, request.NamespacedName, job); {
	case err == nil:
		v.Job = job
	case client.IgnoreNotFound(err) != nil:
		return reconcile.Result{}, err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	for i := range pods.Items {
		v.Pods = append(v.Pods, &pods.Items[i])
	}
	m := r.machineOf(request.NamespacedName)
	if r.beforeBegin != nil {
		r.beforeBegin(ctx, m, &v)
	}
	var all batchv1.JobList
	if err := r.List(ctx, &all, client.InNamespace(request.Namespace)); err != nil {
		return reconcile.Result{}, err
	}
	var jobs []*batchv1.Job
	for i := range all.Items {
		jobs = append(jobs, &all.Items[i])
	}
	send := func(q machine.Request) (runtime.Object, error) { return r.sendAs(ctx, q) }
	for _, orphans := range machine.OrphansIn(v.Pods, jobs) {
		if err := orphans.Run(send).Err; err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := m.Begin(v); err != nil {
		return reconcile.Result{}, err
	}
	result := m.Run(send)
	if r.last != nil {
		return r.last(result)
	}
	if result.Err != nil && result.Requeue > 0 { // an error would discard the requeue, and a deadline with it
		return reconcile.Result{RequeueAfter: min(result.Requeue, time.Second)}, nil
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, result.Err
}

func (r *reconciler) sendAs(ctx context.Context, q machine.Request) (runtime.Object, error) {
	if r.ask != nil {
		if answer, done := r.ask(ctx, &q); done {
			return answer, nil
		}
	}
	o, err := r.send(ctx, q)
	if r.got != nil {
		return r.got(q, o, err)
	}
	return o, err
}

// serve sends a request of a Machine.
func (r *reconciler) serve(ctx context.Context, q machine.Request) (runtime.Object, error) {
	key := client.ObjectKey{Namespace: q.Namespace, Name: q.Name}
	meta := metav1.ObjectMeta{Namespace: q.Namespace, Name: q.Name}
	job, pod, list := &batchv1.Job{ObjectMeta: meta}, &corev1.Pod{ObjectMeta: meta}, &corev1.PodList{}
	switch q.Verb {
	case machine.GetJob:
		return job, r.live.Get(ctx, key, job)
	case machine.ListPods:
		return list, r.live.List(ctx, list, client.InNamespace(q.Namespace))
	case machine.GetPod:
		return pod, r.live.Get(ctx, key, pod)
	case machine.CreatePod:
		return q.Pod, r.Create(ctx, q.Pod)
	case machine.PatchPod:
		return pod, r.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, q.Patch))
	case machine.DeletePod:
		return nil, r.Delete(ctx, pod, client.Preconditions(*q.Options.Preconditions))
	case machine.PatchStatus:
		return job, r.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, q.Patch))
	}
	return nil, fmt.Errorf("unknown request: %s", q.Verb)
}
