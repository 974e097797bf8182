// Package reconciler is a controller of Jobs around jobfate.Machine, on
// controller-runtime. docs/adopting.md shows it.
package reconciler

import (
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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
)

// Reconciler runs the Jobs that name it in spec.managedBy.
type Reconciler struct {
	client.Client
	Live       client.Reader // reads past the caches
	Name       string
	Jobs, Pods cache.Indexer // of the caches
	machines   sync.Map      // of *jobfate.Machine, by the name of the Job
	barrier    func() (string, error)
}

// SetupWithManager adds the Reconciler to a manager, before that starts.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	jobs, errJobs := mgr.GetCache().GetInformer(context.Background(), &batchv1.Job{})
	pods, errPods := mgr.GetCache().GetInformer(context.Background(), &corev1.Pod{})
	if err := errors.Join(errJobs, errPods); err != nil {
		return err
	}
	r.Client, r.Live = mgr.GetClient(), mgr.GetAPIReader()
	r.Jobs, r.Pods = jobs.(cache.SharedIndexInformer).GetIndexer(), pods.(cache.SharedIndexInformer).GetIndexer()
	r.barrier = sync.OnceValues(func() (string, error) { // at the first sync, with the lease in hand
		list := &corev1.PodList{}
		err := r.Live.List(context.Background(), list, client.Limit(1))
		return list.ResourceVersion, err
	})
	wake := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, pod client.Object) (all []reconcile.Request) {
		for _, name := range jobfate.RouteOf(nil, pod.(*corev1.Pod), r.jobsIn) {
			all = append(all, reconcile.Request{NamespacedName: name})
		}
		return all
	})
	return errors.Join(r.Pods.AddIndexers(cache.Indexers{"job": jobOfPod}),
		ctrl.NewControllerManagedBy(mgr).For(&batchv1.Job{}).Watches(&corev1.Pod{}, wake).Complete(r))
}

// Reconcile looks at a Job once; without a name at the pods that have no controller.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (again reconcile.Result, err error) {
	view := jobfate.View{Now: time.Now(), // the versions first, then what they are of
		JobsVersion: r.Jobs.LastStoreSyncResourceVersion(), PodsVersion: r.Pods.LastStoreSyncResourceVersion()}
	if view.Barrier, err = r.barrier(); err != nil {
		return again, err
	}
	if job, ok, _ := r.Jobs.GetByKey(request.String()); ok {
		view.Job = job.(*batchv1.Job)
	}
	view.Pods = r.podsOf(request.String())
	for _, orphans := range jobfate.OrphansIn(view.Pods, r.jobsIn(request.Namespace), jobfate.ManagedBy(r.Name)) {
		r.drive(ctx, orphans)
		err = errors.Join(err, orphans.Err())
	}
	if request.Name == "" || err != nil {
		return again, err
	}
	found, _ := r.machines.LoadOrStore(request.NamespacedName, jobfate.NewMachine(jobfate.ManagedBy(r.Name)))
	m := found.(*jobfate.Machine)
	view.Pods = append(view.Pods, r.podsOf(request.Namespace+"/")...)
	if err := m.Begin(view); err != nil {
		return again, reconcile.TerminalError(err) // until the Job changes
	}
	r.drive(ctx, m)
	again.RequeueAfter, err = m.Result().Requeue, m.Result().Err
	if err != nil && again.RequeueAfter > 0 { // an error would make controller-runtime forget the time
		ctrl.LoggerFrom(ctx).Error(err, "Trying again in a second")
		again.RequeueAfter, err = min(again.RequeueAfter, time.Second), nil
	}
	return again, err
}

// drive sends what a Machine or Orphans asks for.
func (r *Reconciler) drive(ctx context.Context, m interface {
	Next() []jobfate.Request
	Answer(jobfate.Request, runtime.Object, error) error
}) {
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, q := range batch {
			object, err := r.send(ctx, q)
			_ = m.Answer(q, object, err) // fails only for what was not asked for
		}
	}
}

func (r *Reconciler) send(ctx context.Context, q jobfate.Request) (runtime.Object, error) {
	name := types.NamespacedName{Namespace: q.Namespace, Name: q.Name}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: q.Namespace, Name: q.Name}}
	pod := &corev1.Pod{ObjectMeta: job.ObjectMeta}
	switch q.Verb {
	case jobfate.GetJob:
		return job, r.Live.Get(ctx, name, job)
	case jobfate.ListPods:
		list := &corev1.PodList{}
		return list, r.Live.List(ctx, list, client.InNamespace(q.Namespace))
	case jobfate.GetPod:
		return pod, r.Live.Get(ctx, name, pod)
	case jobfate.CreatePod:
		return q.Pod, r.Create(ctx, q.Pod)
	case jobfate.PatchPod:
		return pod, r.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, q.Patch))
	case jobfate.DeletePod:
		return nil, r.Delete(ctx, pod, client.Preconditions(*q.Options.Preconditions))
	}
	return job, r.Status().Patch(ctx, job, client.RawPatch(types.MergePatchType, q.Patch))
}

func (r *Reconciler) podsOf(key string) []*corev1.Pod {
	return as[corev1.Pod](r.Pods.ByIndex("job", key))
}

func (r *Reconciler) jobsIn(namespace string) []*batchv1.Job {
	return as[batchv1.Job](r.Jobs.ByIndex(cache.NamespaceIndex, namespace))
}

// jobOfPod is the key of the Job that controls a pod; without a name if none does.
func jobOfPod(obj any) ([]string, error) {
	pod, owner := obj.(*corev1.Pod), new(metav1.OwnerReference)
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		owner = ref
	}
	return []string{pod.Namespace + "/" + owner.Name}, nil
}

func as[T any](found []any, _ error) (objects []*T) { // fails only without the index
	for _, obj := range found {
		objects = append(objects, obj.(*T))
	}
	return objects
}
