// Package clientgo is a controller of Jobs around machine.Machine, with client-go alone.
// docs/adopting.md shows it.
package clientgo

import (
	"cmp"
	"context"
	"errors"
	"log"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// Controller runs the Jobs that name it in spec.managedBy.
type Controller struct {
	Client     kubernetes.Interface
	Name       string
	jobs, pods cache.Indexer
	queue      workqueue.TypedRateLimitingInterface[string] // keys of Jobs
	machines   sync.Map                                     // *machine.Machine, by the key of its Job
	barrier    string
}

// Run runs the controller until the context ends. Call it once the process holds the lease.
func (c *Controller) Run(ctx context.Context, workers int) error {
	factory := informers.NewSharedInformerFactory(c.Client, 0)
	defer factory.Shutdown()
	jobs, pods := factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer()
	c.jobs, c.pods = jobs.GetIndexer(), pods.GetIndexer()
	// The barrier: all writes of an earlier process are older than this list.
	list, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err := errors.Join(err, c.watch(jobs, pods)); err != nil {
		return err
	}
	c.barrier = list.ResourceVersion
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	context.AfterFunc(ctx, c.queue.ShutDown)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() { c.work(context.WithoutCancel(ctx)) }) // a sync that has begun is finished
	}
	wait.Wait()
	return nil
}

func (c *Controller) watch(jobs, pods cache.SharedIndexInformer) error {
	_, errJobs := jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.jobChanged, UpdateFunc: func(_, job any) { c.jobChanged(job) }, DeleteFunc: c.jobChanged})
	_, errPods := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: c.podChanged,
		AddFunc: func(pod any) { c.podChanged(nil, pod) }, DeleteFunc: func(pod any) { c.podChanged(pod, nil) }})
	return errors.Join(errJobs, errPods, pods.AddIndexers(cache.Indexers{"job": jobOfPod}))
}

func (c *Controller) jobChanged(job any) {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(job)
	c.queue.Add(key)
	c.queue.AddAfter(strings.SplitAfter(key, "/")[0], time.Second) // a deleted Job may leave pods without a controller
}

func (c *Controller) podChanged(before, after any) {
	if missed, ok := before.(cache.DeletedFinalStateUnknown); ok {
		before = missed.Obj
	}
	was, _ := before.(*corev1.Pod)
	is, _ := after.(*corev1.Pod)
	for _, name := range route.Of(was, is, c.jobsIn, decide.ManagedBy(c.Name)) {
		c.queue.AddAfter(name.String(), time.Second) // one status write for many pods
	}
}

func (c *Controller) work(ctx context.Context) {
	for key, over := c.queue.Get(); !over; key, over = c.queue.Get() {
		again, err := c.sync(ctx, key)
		if err == nil {
			c.queue.Forget(key)
		} else {
			log.Printf("%s: %v", key, err)
			c.queue.AddRateLimited(key)
		}
		if again > 0 {
			c.queue.AddAfter(key, again)
		}
		c.queue.Done(key)
	}
}

// sync handles one Job or, with an empty name, the pods without a controller.
func (c *Controller) sync(ctx context.Context, key string) (again time.Duration, err error) {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	// read before the Job
	view := machine.View{Now: time.Now(), Barrier: c.barrier, JobsVersion: c.jobs.LastStoreSyncResourceVersion()}
	job, _, _ := c.jobs.GetByKey(key)
	view.Job, _ = job.(*batchv1.Job)
	send := func(r machine.Request) (runtime.Object, error) { return c.send(ctx, r) }
	own, orphaned := decide.ManagedBy(c.Name), indexed[corev1.Pod](c.pods, "job", key)
	for _, orphans := range route.OrphansIn(orphaned, c.jobsIn(namespace), own) {
		err = errors.Join(err, orphans.Run(send).Err)
	}
	if name == "" || err != nil {
		return 0, err
	}
	found, _ := c.machines.LoadOrStore(key, machine.New(own))
	m := found.(*machine.Machine)
	// until both reads show the same version
	for try := 0; try == 0 || try < 10 && view.PodsVersion != c.pods.LastStoreSyncResourceVersion(); try++ {
		view.PodsVersion = c.pods.LastStoreSyncResourceVersion()
		view.Pods = indexed[corev1.Pod](c.pods, "job", key, namespace+"/")
	}
	switch err := m.Begin(view); {
	case errors.Is(err, decide.ErrNotManaged):
		return 0, nil
	case err != nil:
		log.Printf("%s is left alone until it changes: %v", key, err)
		return 0, nil
	}
	result := m.Run(send)
	if view.Job == nil && m.Idle() {
		c.machines.Delete(key)
	}
	return result.Requeue, result.Err
}

func (c *Controller) send(ctx context.Context, r machine.Request) (runtime.Object, error) {
	jobs, pods := c.Client.BatchV1().Jobs(r.Namespace), c.Client.CoreV1().Pods(r.Namespace)
	switch r.Verb {
	case machine.GetJob:
		return jobs.Get(ctx, r.Name, metav1.GetOptions{})
	case machine.ListPods:
		return pods.List(ctx, metav1.ListOptions{})
	case machine.GetPod:
		return pods.Get(ctx, r.Name, metav1.GetOptions{})
	case machine.CreatePod:
		return pods.Create(ctx, r.Pod, metav1.CreateOptions{})
	case machine.PatchPod:
		return pods.Patch(ctx, r.Name, types.StrategicMergePatchType, r.Patch, metav1.PatchOptions{})
	case machine.DeletePod:
		return nil, pods.Delete(ctx, r.Name, r.Options)
	}
	return jobs.Patch(ctx, r.Name, types.MergePatchType, r.Patch, metav1.PatchOptions{}, "status")
}

func (c *Controller) jobsIn(namespace string) []*batchv1.Job {
	return indexed[batchv1.Job](c.jobs, cache.NamespaceIndex, namespace)
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
