package chaos_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
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

	key func(types.NamespacedName) types.NamespacedName // the key under which a Machine is kept
	// Functions by which a bug changes the view, the requests and their answers, and the result.
	beforeBegin func(ctx context.Context, m *machine.Machine, v *machine.View)
	send        func(context.Context, machine.Request) (runtime.Object, error)
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
	send := func(q machine.Request) (runtime.Object, error) { return r.send(ctx, q) }
	for _, orphans := range route.OrphansIn(v.Pods, jobs) {
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

// A Reconciler that feeds its Machines as the documentation of Feed says violates no property.
func TestFeed(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r, changed, listed := newReconciler(env), map[types.NamespacedName]map[string]bool{}, map[*machine.Machine]bool{}
		jobs := func(namespace string) (all []*batchv1.Job) {
			for _, o := range env.Jobs.List() {
				if job := o.(*batchv1.Job); job.Namespace == namespace {
					all = append(all, job)
				}
			}
			return all
		}
		mark := func(o any) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			pod := o.(*corev1.Pod)
			for _, name := range route.Of(nil, pod, jobs) {
				if changed[name] == nil {
					changed[name] = map[string]bool{}
				}
				changed[name][pod.Name] = true
			}
		}
		Must(env.Informer(&corev1.Pod{}).AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: mark, DeleteFunc: mark, UpdateFunc: func(before, after any) { mark(before); mark(after) }}))
		r.beforeBegin = func(_ context.Context, m *machine.Machine, v *machine.View) {
			if v.Job == nil {
				return
			}
			name := client.ObjectKeyFromObject(v.Job)
			for v.Fed = listed[m]; v.Fed && len(changed[name]) > 0; {
				names := changed[name]
				delete(changed, name)
				for n := range names {
					o, _, _ := env.Pods.GetByKey(name.Namespace + "/" + n)
					pod, _ := o.(*corev1.Pod)
					m.Feed(n, pod)
				}
			}
			listed[m] = true
		}
		return r
	})
}

// A Reconciler that writes by updates, and by merge patches of the metadata, violates no property.
// It applies the patches of its Machine to objects that it reads live.
func TestUpdates(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r := newReconciler(env)
		n := 0
		r.send = func(ctx context.Context, q machine.Request) (runtime.Object, error) {
			key := types.NamespacedName{Namespace: q.Namespace, Name: q.Name}
			switch q.Verb {
			case machine.PatchPod:
				before := &corev1.Pod{}
				if err := r.live.Get(ctx, key, before); err != nil {
					return nil, err
				}
				pod := FromJSON[*corev1.Pod](Must(strategicpatch.StrategicMergePatch([]byte(ToJSON(before)), q.Patch, before)))
				if n++; n%2 == 0 || pod.UID != before.UID || pod.ResourceVersion != before.ResourceVersion {
					return pod, r.Update(ctx, pod)
				}
				return pod, r.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
			case machine.PatchStatus:
				job := &batchv1.Job{}
				if err := r.live.Get(ctx, key, job); err != nil {
					return nil, err
				}
				job = Patched(job, q.Patch)
				return job, r.Status().Update(ctx, job)
			}
			return r.serve(ctx, q)
		}
		return r
	})
}

// The context of a process has ended when the next process starts, and at the end.
func TestContext(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(*chaos.Env) reconcile.Reconciler){
		"Config": chaos.Config{Schedules: 1, Without: []string{"second leader"}}.Test,
		"Creator": func(t *testing.T, factory func(*chaos.Env) reconcile.Reconciler) {
			one := twoJobs
			one.Schedules = 1
			one.Test(t, factory)
		},
	} {
		t.Run(name, func(t *testing.T) {
			starts, running := 0, atomic.Int32{}
			run(t, func(env *chaos.Env) reconcile.Reconciler {
				if synctest.Wait(); running.Load() > 0 {
					t.Error("a process starts, but the context of the last one goes on")
				}
				starts++
				running.Add(1)
				go func() { // would block forever in the bubble
					<-env.Context().Done()
					running.Add(-1)
				}()
				if name == "Creator" {
					return newTrainer(env)
				}
				return newReconciler(env)
			})
			if starts < 2 || running.Load() > 0 {
				t.Errorf("%d processes were started, want several; %d contexts go on", starts, running.Load())
			}
		})
	}
}

// A watch fails the test, and the report says what is not supported.
func TestClientset_watch(t *testing.T) {
	found := chaos.Config{Schedules: 1}.Search(t, func(env *chaos.Env) reconcile.Reconciler {
		client := Must(kubernetes.NewForConfig(env.Config()))
		return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			_, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
			return reconcile.Result{}, err
		})
	}).Violation
	if found == nil || found.Property != "chaos" || !strings.HasPrefix(found.Text, "a watch of pods is not supported") {
		t.Errorf("found %v, want a violation that names the watch", found)
	}
}
