package chaos_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/inside"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// The Reconciler of the example violates no property.
func TestExample(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, newJobReconciler)
}

// reconciler is like the Reconciler of the example, and names the versions of the caches. Its
// fields inject bugs.
type reconciler struct {
	*jobReconciler
	env *chaos.Env

	send func(context.Context, jobfate.Request) (runtime.Object, error)

	key    func(types.NamespacedName) types.NamespacedName // the key under which a Machine is kept
	decide inside.Decider
	// Functions by which a bug changes the view, the requests, the answers and the result.
	beforeBegin func(ctx context.Context, m *jobfate.Machine, v *jobfate.View)
	ask         func(ctx context.Context, q *jobfate.Request) (runtime.Object, bool)
	got         func(q jobfate.Request, o runtime.Object, err error) (runtime.Object, error)
	last        func(jobfate.Result) (reconcile.Result, error)

	asked  []jobfate.Request // the requests of the sync
	action func(jobfate.Result) string
}

func newReconciler(env *chaos.Env) *reconciler {
	r := &reconciler{jobReconciler: newJobReconciler(env).(*jobReconciler), env: env}
	r.send, r.action = r.jobReconciler.send, r.actionOf
	return r
}

// versions returns the versions of the caches.
func (r *reconciler) versions() (jobs, pods string) {
	return r.env.Jobs.LastStoreSyncResourceVersion(), r.env.Pods.LastStoreSyncResourceVersion()
}

// machineOf returns the Machine of a Job.
func (r *reconciler) machineOf(name types.NamespacedName) *jobfate.Machine {
	if r.key != nil {
		name = r.key(name)
	}
	if r.machines[name] == nil {
		m := jobfate.NewMachine()
		if r.decide != nil {
			inside.Decide(m, r.decide)
		}
		r.machines[name] = m
	}
	return r.machines[name]
}

// Reconcile implements [reconcile.Reconciler].
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	v := jobfate.View{Now: time.Now()}
	v.JobsVersion, v.PodsVersion = r.versions()
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
	send := func(q jobfate.Request) (runtime.Object, error) { return r.sendAs(ctx, q) }
	for _, orphans := range jobfate.OrphansIn(v.Pods, jobs) {
		if err := orphans.Run(send).Err; err != nil {
			return reconcile.Result{}, err
		}
	}
	r.asked = nil
	if err := m.Begin(v); err != nil {
		return reconcile.Result{}, err
	}
	result := m.Run(send)
	r.audit(r.action(result), &result.Decision)
	if r.last != nil {
		return r.last(result)
	}
	if result.Err != nil && result.Requeue > 0 { // an error would discard the requeue
		return reconcile.Result{RequeueAfter: min(result.Requeue, time.Second)}, nil
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, result.Err
}

func (r *reconciler) sendAs(ctx context.Context, q jobfate.Request) (runtime.Object, error) {
	r.asked = append(r.asked, q)
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
