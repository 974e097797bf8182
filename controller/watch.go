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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// oldest is the first release of Kubernetes whose API server keeps spec.managedBy and accepts
// the condition SuccessCriteriaMet with default feature gates.
var oldest = version.MustParseGeneric("1.32")

// namespaceRetry is the time between two attempts to watch a namespace.
const namespaceRetry = 10 * time.Second

// watcher fills the stores of a controller, one for each namespace. It does not use the
// manager's cache, for four reasons. The manager fills that cache before the process leads, so
// it would be older than the barrier. Its other users may need the fields that are dropped here.
// Its client copies each pod. And it does not record which pods have changed.
type watcher struct {
	client     kubernetes.Interface
	mayList    func(ctx context.Context, namespace string) error // lists the objects of the controller
	log        logr.Logger
	anyServer  bool // whether to accept any version of the API server
	namespaces []*watchedNamespace
	stores     stores
	beginning  sync.Mutex
	begun      bool
	running    sync.WaitGroup
}

// watchedNamespace is a watched namespace.
type watchedNamespace struct {
	namespace string
	jobs      cache.SharedIndexInformer
	*store

	mu    sync.Mutex
	fault error // why it cannot be watched; nil if it can
}

func newWatcher(o Options, objects objects) (*watcher, error) {
	_, ofKubernetes := objects.(jobs)
	w := &watcher{client: objects.api(), mayList: objects.mayList, anyServer: !ofKubernetes, stores: stores{}}
	me := objects.controller(o)
	for _, namespace := range o.Namespaces {
		jobs, err := objects.informer(namespace)
		if err != nil {
			return nil, err
		}
		s := &watchedNamespace{namespace: namespace, jobs: jobs,
			store: &store{jobs: jobs.GetIndexer(), pods: newPodCache(me, o.Transform)}}
		w.namespaces = append(w.namespaces, s)
		w.stores[namespace] = s.store
	}
	return w, nil
}

// consistent makes the first list of an informer consistent. With resource version 0 the API
// server could answer with an older version.
func consistent(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
}

// synced reports whether the caches of all namespaces that can be watched are filled.
func (w *watcher) synced() bool {
	for _, s := range w.namespaces {
		if s.problem() == nil && !(s.jobs.HasSynced() && s.pods.filled()) {
			return false
		}
	}
	return true
}

// ready returns an error while a cache is not filled or a namespace cannot be watched.
func (w *watcher) ready() error {
	if !w.synced() {
		return errors.New("the caches are not filled yet")
	}
	var errs []error
	for _, s := range w.namespaces {
		errs = append(errs, s.problem())
	}
	return errors.Join(errs...)
}

func (s *watchedNamespace) problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// begin reads the barriers and then starts the informers, so that filled caches have reached
// the barriers. It is called once this process leads.
func (w *watcher) begin(ctx context.Context) error {
	w.beginning.Lock()
	defer w.beginning.Unlock()
	if w.begun {
		return nil
	}
	if err := w.checkServer(ctx); err != nil {
		return err
	}
	for _, s := range w.namespaces {
		w.running.Go(func() { w.watch(ctx, s) })
	}
	w.begun = true
	return nil
}

// watch starts to watch a namespace, and retries if that fails. Other namespaces do not wait for it.
func (w *watcher) watch(ctx context.Context, s *watchedNamespace) {
	for err := w.open(ctx, s); err != nil; err = w.open(ctx, s) {
		if ctx.Err() != nil {
			return
		}
		if s.problem() == nil {
			w.log.Error(err, "Cannot watch a namespace", "namespace", s.namespace)
		}
		s.mu.Lock()
		s.fault = err
		s.mu.Unlock()
		select {
		case <-time.After(namespaceRetry):
		case <-ctx.Done():
			return
		}
	}
	w.running.Go(func() { s.jobs.RunWithContext(ctx) })
	w.running.Go(func() { w.reflector(s).RunWithContext(ctx) })
	s.mu.Lock()
	s.fault = nil
	s.mu.Unlock()
}

// reflector fills the cache of the pods of a namespace.
func (w *watcher) reflector(s *watchedNamespace) *cache.Reflector {
	pods := w.client.CoreV1().Pods(s.namespace)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			consistent(&o)
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			consistent(&o)
			return pods.Watch(ctx, o)
		},
	}, w.client)
	return cache.NewReflectorWithOptions(source, &corev1.Pod{}, s.pods, cache.ReflectorOptions{Name: "pods"})
}

// retry retries until the API server answers.
func (w *watcher) retry(ctx context.Context, what string, try func(context.Context) error) error {
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil {
			w.log.Error(err, "Retrying", "request", what)
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// open reads the barrier of a namespace. It fails if the namespace does not exist, or if the
// controller may not list its objects and pods.
func (w *watcher) open(ctx context.Context, s *watchedNamespace) (fault error) {
	err := w.retry(ctx, "listing a pod", func(ctx context.Context) error {
		fault = nil
		if s.namespace != metav1.NamespaceAll {
			_, err := w.client.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				fault = fmt.Errorf("the namespace %s does not exist", s.namespace)
				return nil
			}
			if err != nil && !apierrors.IsForbidden(err) { // without the permission, assume that it exists
				return err
			}
		}
		list, err := w.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			s.barrier = list.ResourceVersion
		}
		if s.namespace == metav1.NamespaceAll {
			return err
		}
		if err == nil {
			err = w.mayList(ctx, s.namespace)
		}
		if apierrors.IsForbidden(err) {
			fault = fmt.Errorf("the namespace %s does not exist, or its Jobs or pods may not be listed: %w",
				s.namespace, err)
			return nil
		}
		return err
	})
	return errors.Join(err, fault)
}

// checkServer rejects an API server that would drop spec.managedBy or reject the statuses.
func (w *watcher) checkServer(ctx context.Context) error {
	var refused error
	if w.anyServer {
		return nil
	}
	err := w.retry(ctx, "reading the version of the API server", func(context.Context) error {
		info, err := w.client.Discovery().ServerVersion()
		if err != nil {
			return err
		}
		emulated := info.GitVersion
		if info.EmulationMajor != "" {
			emulated = info.EmulationMajor + "." + info.EmulationMinor
		}
		got, err := version.ParseGeneric(emulated)
		if err != nil || got.Major() == 0 {
			return nil // a version that cannot be parsed, as of a development build, is accepted
		}
		if got.LessThan(oldest) {
			refused = fmt.Errorf("the API server is %s and emulates %s, but at least %s is required: older "+
				"versions drop spec.managedBy or reject the condition SuccessCriteriaMet", info.GitVersion,
				emulated, oldest)
		} else if lacks := lacking(got); len(lacks) > 0 {
			w.log.Info("The API server lacks features unless their gates are on", "version", emulated, "lacks", lacks)
		}
		return nil
	})
	return errors.Join(err, refused)
}

// serverFeatures lists the features that the Jobs of this controller may use, and the first
// versions in which each is on by default, or cannot be off.
var serverFeatures = []struct{ since, what string }{
	{"1.35", "spec.managedBy, which it drops with the gate JobManagedBy off: the built-in controller runs the Jobs"},
	{"1.35", "restart rules of containers"},
	{"1.36", "restarts of all containers of a pod"},
	{"1.36", "changes of the resources of a suspended Job"},
}

// lacking returns the features that an API server may lack.
func lacking(got *version.Version) (lacks []string) {
	for _, f := range serverFeatures {
		if got.LessThan(version.MustParseGeneric(f.since)) {
			lacks = append(lacks, f.what)
		}
	}
	return lacks
}

// source passes changes of Jobs and pods to handlers that fill the queue of a controller. The
// handlers get nil as before for a new object, and nil as after for a deleted one.
type source[T comparable] struct {
	*watcher
	job func(q workqueue.TypedRateLimitingInterface[T], before, after *batchv1.Job)
	pod func(q workqueue.TypedRateLimitingInterface[T], before, after *corev1.Pod)
}

// Start is called once this process leads.
func (s source[T]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
	for _, space := range s.namespaces {
		if err := s.handleJobs(space.jobs, q); err != nil {
			return err
		}
		space.pods.handle(func(before, after *corev1.Pod, initial bool) {
			s.pod(queueOf(q, initial, 0), before, after)
		})
	}
	return s.begin(ctx)
}

// WaitForSync blocks the workers until the caches are filled.
func (s source[T]) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), s.synced) {
		return errors.New("stopped before the caches of Jobs and pods were filled")
	}
	return nil
}

func (s source[T]) String() string { return "Jobs and pods" }

func (s source[T]) handleJobs(informer cache.SharedIndexInformer, q workqueue.TypedRateLimitingInterface[T]) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			s.job(queueOf(q, isInInitialList, soon), nil, obj.(*batchv1.Job))
		},
		UpdateFunc: func(old, obj any) { s.job(q, old.(*batchv1.Job), obj.(*batchv1.Job)) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			s.job(q, obj.(*batchv1.Job), nil)
		},
	})
	return err
}

// queueOf returns a queue that adds with a priority. Objects that existed before this process get a
// low one.
func queueOf[T comparable](q workqueue.TypedRateLimitingInterface[T], initial bool,
	priority int) workqueue.TypedRateLimitingInterface[T] {
	switch {
	case initial:
		return prioritized[T]{q, handler.LowPriority}
	case priority != 0:
		return prioritized[T]{q, priority}
	}
	return q
}

// soon is the priority of the first sync of a Job, and of the syncs of a Job that has ended. A new Job
// gets its pods before the pods of other Jobs are counted. After a restart it does not wait for the syncs
// of all running Jobs, because objects that existed before this process have a low priority. The last
// sync of a Job that has ended is cheap, and frees the memory of its Machine and pods.
const soon = 1

// prioritized is a queue that adds with a priority.
type prioritized[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	priority int
}

func (p prioritized[T]) AddAfter(r T, after time.Duration) {
	if q, ok := p.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[T]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &p.priority}, r)
		return
	}
	p.TypedRateLimitingInterface.AddAfter(r, after)
}
