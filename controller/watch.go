package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/jobfate/jobfate/tracking"
)

// oldest is the first release of Kubernetes whose API server keeps spec.managedBy, and
// accepts the condition SuccessCriteriaMet, without a feature gate that has to be set.
var oldest = version.MustParseGeneric("1.32")

// again is how long it takes until a namespace that could not be watched is tried again.
const again = 10 * time.Second

// watcher fills the stores of a controller: it holds the informers of each namespace. They
// are not those of the manager's cache. A controller-runtime cache is filled before its
// process leads, so it would be older than the barrier; what is dropped from these pods
// others may need; and their indexers hand out pointers, where a client copies each pod.
type watcher struct {
	client    kubernetes.Interface
	log       logr.Logger
	anyServer bool // whether any version of the API server will do
	spaces    []*space
	stores    stores
	beginning sync.Mutex
	begun     bool
	running   sync.WaitGroup
}

// space is what is watched of a namespace.
type space struct {
	namespace  string
	jobs, pods cache.SharedIndexInformer
	*store

	mu    sync.Mutex
	lacks error // why it is not watched, if it cannot be
}

func newWatcher(o Options, objects objects) (*watcher, error) {
	_, ofKubernetes := objects.(jobs)
	w := &watcher{client: objects.api().reader, anyServer: !ofKubernetes, stores: stores{}}
	me := objects.controller(o)
	for _, namespace := range o.Namespaces {
		jobs, err := objects.informer(namespace)
		if err != nil {
			return nil, err
		}
		pods := coreinformers.NewFilteredPodInformer(w.client, namespace, 0, cache.Indexers{byController: controllerIndex(me)}, consistent)
		if err := pods.SetTransform(slim(me, o.Transform)); err != nil {
			return nil, err
		}
		s := &space{namespace: namespace, jobs: jobs, pods: pods, store: &store{jobs: jobs.GetIndexer(), pods: pods.GetIndexer()}}
		w.spaces = append(w.spaces, s)
		w.stores[namespace] = s.store
	}
	return w, nil
}

// slim drops what is never looked at before a pod gets into the cache: nearly all of one
// that something other than this kind controls, which may only lose its controller.
func slim(me tracking.Controller, more func(*corev1.Pod)) cache.TransformFunc {
	return func(obj any) (any, error) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return obj, nil
		}
		if ofOthers(me, pod) {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
				OwnerReferences: pod.OwnerReferences,
			}}, nil
		}
		pod.ManagedFields = nil
		if more != nil {
			more(pod)
		}
		return pod, nil
	}
}

// consistent makes the first list show at least what was there when it was asked for:
// 0 would be any version that the API server happens to have.
func consistent(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
}

// synced reports whether the caches are filled of all namespaces that can be watched.
func (w *watcher) synced() bool {
	for _, s := range w.spaces {
		if s.problem() == nil && !(s.jobs.HasSynced() && s.pods.HasSynced()) {
			return false
		}
	}
	return true
}

// ready says why the controller does not run all that it should.
func (w *watcher) ready() error {
	if !w.synced() {
		return errors.New("the caches are not filled yet")
	}
	var errs []error
	for _, s := range w.spaces {
		errs = append(errs, s.problem())
	}
	return errors.Join(errs...)
}

func (s *space) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacks
}

// begin reads the barriers, and only then starts the informers, whose caches have thus
// reached them as soon as they are filled. It is called once this process leads.
func (w *watcher) begin(ctx context.Context) error {
	w.beginning.Lock()
	defer w.beginning.Unlock()
	if w.begun {
		return nil
	}
	if err := w.checkServer(ctx); err != nil {
		return err
	}
	for _, s := range w.spaces {
		w.running.Go(func() { w.watch(ctx, s) })
	}
	w.begun = true
	return nil
}

// watch watches a namespace once that is possible. The others do not wait for it.
func (w *watcher) watch(ctx context.Context, s *space) {
	for err := w.open(ctx, s); err != nil; err = w.open(ctx, s) {
		if ctx.Err() != nil {
			return
		}
		if s.problem() == nil {
			w.log.Error(err, "Cannot watch a namespace", "namespace", s.namespace)
		}
		s.mu.Lock()
		s.lacks = err
		s.mu.Unlock()
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
	w.running.Go(func() { s.jobs.RunWithContext(ctx) })
	w.running.Go(func() { s.pods.RunWithContext(ctx) })
	s.mu.Lock()
	s.lacks = nil
	s.mu.Unlock()
}

// persist tries again until the API server answers.
func (w *watcher) persist(ctx context.Context, what string, try func(context.Context) error) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil {
			w.log.Error(err, "Trying again", "to", what)
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("trying to %s: %w", what, err)
	}
	return nil
}

// open reads the barrier of a namespace. It fails when there is no such namespace, or no
// right to its pods.
func (w *watcher) open(ctx context.Context, s *space) (lacks error) {
	err := w.persist(ctx, "list a pod", func(ctx context.Context) error {
		lacks = nil
		if s.namespace != metav1.NamespaceAll {
			_, err := w.client.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				lacks = fmt.Errorf("the namespace %s does not exist", s.namespace)
				return nil
			}
			if err != nil && !apierrors.IsForbidden(err) { // without the right it may exist
				return err
			}
		}
		list, err := w.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsForbidden(err) && s.namespace != metav1.NamespaceAll {
			lacks = fmt.Errorf("the namespace %s does not exist or must not be watched: %w", s.namespace, err)
			return nil
		}
		if err == nil {
			s.barrier = list.ResourceVersion
		}
		return err
	})
	return errors.Join(err, lacks)
}

// checkServer refuses an API server that would drop the name in spec.managedBy, or refuse
// the statuses.
func (w *watcher) checkServer(ctx context.Context) error {
	var refused error
	if w.anyServer {
		return nil
	}
	err := w.persist(ctx, "ask for the version of the API server", func(context.Context) error {
		info, err := w.client.Discovery().ServerVersion()
		if err != nil {
			return err
		}
		acts := info.GitVersion
		if info.EmulationMajor != "" {
			acts = info.EmulationMajor + "." + info.EmulationMinor
		}
		got, err := version.ParseGeneric(acts)
		if err == nil && got.Major() > 0 && got.LessThan(oldest) {
			refused = fmt.Errorf("the API server is %s and acts as %s: from %s on it keeps spec.managedBy and accepts the condition SuccessCriteriaMet", info.GitVersion, acts, oldest)
		}
		return nil // a version of another form, and that of a build without one, is taken
	})
	return errors.Join(err, refused)
}

// source fills the queue of a controller with what changes concern. What is before a
// change is nil for a new object, and what is after it for one that is gone.
type source[T comparable] struct {
	*watcher
	job func(q workqueue.TypedRateLimitingInterface[T], before, after *batchv1.Job)
	pod func(q workqueue.TypedRateLimitingInterface[T], before, after *corev1.Pod)
}

// Start is called once this process leads.
func (s source[T]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
	for _, space := range s.spaces {
		err := errors.Join(
			handle(space.jobs, q, s.job),
			handle(space.pods, q, s.pod),
		)
		if err != nil {
			return err
		}
	}
	return s.begin(ctx)
}

// WaitForSync holds the workers back until the caches are filled.
func (s source[T]) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return errors.New("the caches of Jobs and pods have not been filled")
	}
	return nil
}

func (s source[T]) String() string { return "Jobs and pods" }

func handle[O any, T comparable](informer cache.SharedIndexInformer, q workqueue.TypedRateLimitingInterface[T], changed func(q workqueue.TypedRateLimitingInterface[T], before, after *O)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if isInInitialList {
				changed(backlog[T]{q}, nil, obj.(*O))
			} else {
				changed(q, nil, obj.(*O))
			}
		},
		UpdateFunc: func(old, obj any) { changed(q, old.(*O), obj.(*O)) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			changed(q, obj.(*O), nil)
		},
	})
	return err
}

// backlog is the queue for what was there before this process. What is new comes first: after
// a restart a new Job does not wait for all that run already.
type backlog[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
}

func (b backlog[T]) AddAfter(r T, after time.Duration) {
	if q, ok := b.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[T]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: new(handler.LowPriority)}, r)
		return
	}
	b.TypedRateLimitingInterface.AddAfter(r, after)
}
