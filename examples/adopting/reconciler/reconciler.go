// Package reconciler is a controller of Jobs around machine.Machine, on
// controller-runtime. docs/adopting.md shows it.
package reconciler

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// Reconciler runs the Jobs that name it in spec.managedBy.
type Reconciler struct {
	client.Client
	Live       client.Reader // reads live
	Name       string
	Jobs, Pods cache.Indexer // of the manager's caches
	machines   sync.Map      // *machine.Machine, by the name of its Job
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager adds the Reconciler to a manager that has not started.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	jobs, errJobs := mgr.GetCache().GetInformer(context.Background(), &batchv1.Job{})
	pods, errPods := mgr.GetCache().GetInformer(context.Background(), &corev1.Pod{})
	if err := errors.Join(errJobs, errPods); err != nil {
		return err
	}
	r.Client, r.Live = mgr.GetClient(), mgr.GetAPIReader()
	r.Jobs, r.Pods = jobs.(cache.SharedIndexInformer).GetIndexer(), pods.(cache.SharedIndexInformer).GetIndexer()
	wake := handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { r.podChanged(q, nil, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { r.podChanged(q, e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { r.podChanged(q, e.Object, nil) },
	}
	// a deleted Job leaves pods without a controller
	left := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, job client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: job.GetNamespace()}}}
	})
	return errors.Join(r.Pods.AddIndexers(cache.Indexers{"job": jobOfPod}), ctrl.NewControllerManagedBy(mgr).
		For(&batchv1.Job{}).Watches(&batchv1.Job{}, left).Watches(&corev1.Pod{}, wake).Complete(r))
}

func (r *Reconciler) podChanged(q queue, before, after client.Object) {
	was, _ := before.(*corev1.Pod)
	is, _ := after.(*corev1.Pod)
	for _, name := range route.Of(was, is, r.jobsIn, decide.ManagedBy(r.Name)) {
		q.AddAfter(reconcile.Request{NamespacedName: name}, time.Second) // one status write for many pods
	}
}

// Reconcile handles one Job or, with an empty name, the pods without a controller.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (again reconcile.Result, err error) {
	// without a Barrier the first sync reads live
	view := machine.View{Now: time.Now(), JobsVersion: r.Jobs.LastStoreSyncResourceVersion()}
	job, _, _ := r.Jobs.GetByKey(request.String())
	view.Job, _ = job.(*batchv1.Job)
	send := func(q machine.Request) (runtime.Object, error) { return r.send(ctx, q) }
	own, orphaned := decide.ManagedBy(r.Name), indexed[corev1.Pod](r.Pods, "job", request.String())
	for _, orphans := range route.OrphansIn(orphaned, r.jobsIn(request.Namespace), own) {
		err = errors.Join(err, orphans.Run(send).Err)
	}
	if request.Name == "" || err != nil {
		return again, err
	}
	found, _ := r.machines.LoadOrStore(request.NamespacedName, machine.New(own))
	m := found.(*machine.Machine)
	// until both reads show the same version
	for try := 0; try == 0 || try < 10 && view.PodsVersion != r.Pods.LastStoreSyncResourceVersion(); try++ {
		view.PodsVersion = r.Pods.LastStoreSyncResourceVersion()
		view.Pods = indexed[corev1.Pod](r.Pods, "job", request.String(), request.Namespace+"/")
	}
	switch err := m.Begin(view); {
	case errors.Is(err, decide.ErrNotManaged):
		return again, nil
	case err != nil:
		return again, reconcile.TerminalError(err) // a retry does not help until the Job changes
	}
	result := m.Run(send)
	if view.Job == nil && m.Idle() {
		r.machines.Delete(request.NamespacedName)
	}
	// controller-runtime ignores RequeueAfter if there is an error, and the Job would miss a deadline
	if result.Err != nil && result.Requeue > 0 {
		ctrllog.FromContext(ctx).Error(result.Err, "The sync is retried")
		return reconcile.Result{RequeueAfter: min(result.Requeue, 5*time.Second)}, nil
	}
	return reconcile.Result{RequeueAfter: result.Requeue}, result.Err
}

func (r *Reconciler) send(ctx context.Context, q machine.Request) (runtime.Object, error) {
	name := types.NamespacedName{Namespace: q.Namespace, Name: q.Name}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: q.Namespace, Name: q.Name}}
	pod := &corev1.Pod{ObjectMeta: job.ObjectMeta}
	switch q.Verb {
	case machine.GetJob:
		return job, r.Live.Get(ctx, name, job)
	case machine.ListPods:
		list := &corev1.PodList{}
		return list, r.Live.List(ctx, list, client.InNamespace(q.Namespace))
	case machine.GetPod:
		return pod, r.Live.Get(ctx, name, pod)
	case machine.CreatePod:
		return q.Pod, r.Create(ctx, q.Pod)
	case machine.PatchPod:
		return pod, r.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, q.Patch))
	case machine.DeletePod:
		return nil, r.Delete(ctx, pod, client.Preconditions(*q.Options.Preconditions))
	}
	return job, r.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, q.Patch))
}

func (r *Reconciler) jobsIn(namespace string) []*batchv1.Job {
	return indexed[batchv1.Job](r.Jobs, cache.NamespaceIndex, namespace)
}

// jobOfPod returns the key of the Job that controls a pod; without a name if no Job does.
func jobOfPod(obj any) ([]string, error) {
	pod := obj.(*corev1.Pod)
	owner := cmp.Or(metav1.GetControllerOfNoCopy(pod), &metav1.OwnerReference{})
	return []string{pod.Namespace + "/" + owner.Name}, nil
}

func indexed[T any](in cache.Indexer, index string, keys ...string) (objects []*T) {
	for _, key := range keys {
		found, _ := in.ByIndex(index, key) // fails only without the index
		for _, obj := range found {
			objects = append(objects, obj.(*T))
		}
	}
	return objects
}
