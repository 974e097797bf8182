package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Env is the access of a controller process to the cluster.
type Env struct {
	// Client reads Jobs and pods from caches that lag, and writes to the API server. Jobs
	// are written through their status, pods by updates, patches and deletions. Objects of
	// other kinds are stored, without faults; events are accepted and dropped.
	Client client.Client
	// Live reads from the API server, not from the caches.
	Live client.Reader
	// Manager is for SetupWithManager of a Reconciler. It starts nothing.
	Manager manager.Manager
	// RateLimiter delays a Reconcile after an error. It is the default of
	// controller-runtime; a factory that sets another for its controller sets it here too.
	RateLimiter workqueue.TypedRateLimiter[reconcile.Request]
	// Jobs and Pods are the stores of the informers. A [Creator] has none.
	Jobs, Pods cache.Indexer

	jobs, pods *indexer

	ctx    context.Context
	end    context.CancelFunc
	mu     lock        // a Reconciler may start goroutines
	moving atomic.Bool // event handlers are being called
	now    *cluster.Client
	all    bool // Reconcile is called for an object that is not a Job
	stop   context.CancelFunc
	broken error // an unsupported request, or a failure of the test
	others client.Client

	// nil without a Creator.
	schedule *schedule
	cache    *kube.Cache
}

// Barrier is the resource version of a consistent list of pods when the process started.
// It is known during Reconcile.
func (e *Env) Barrier() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return ""
	}
	return e.now.Barrier
}

// Context returns a context that ends when the process is killed or replaced, and at the end
// of the schedule. Whatever the factory starts must end with it, for example a work queue:
//
//	context.AfterFunc(env.Context(), queue.ShutDown)
func (e *Env) Context() context.Context { return e.ctx }

// Fail reports a violation of a condition of the test itself. The schedule fails, and is
// shortened and reported like any other.
func (e *Env) Fail(format string, args ...any) {
	e.fail(&referee.Violation{Property: "own", Text: fmt.Sprintf(format, args...)})
}

func (e *Env) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken == nil {
		e.broken = err
	}
}

func (e *Env) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.broken
}

// Informer returns the informer of Jobs or of pods, with its store and event handlers. The
// handlers are called when the caches change, also during a request of Reconcile. They must
// not acquire a lock that Reconcile holds then. A [Creator] has none.
func (e *Env) Informer(of client.Object) cache.SharedIndexInformer {
	if e.schedule != nil {
		_ = e.unserved("an informer", of) // fails the test
		return informer{indexer: newIndexer(e, cluster.Jobs)}
	}
	if isJob(of) {
		return informer{indexer: e.jobs}
	}
	return informer{indexer: e.pods}
}

func newEnv() *Env {
	e := &Env{mu: make(lock, 1)}
	e.ctx, e.end = context.WithCancel(context.Background())
	e.jobs, e.pods = newIndexer(e, cluster.Jobs), newIndexer(e, cluster.Pods)
	e.Jobs, e.Pods = e.jobs, e.pods
	e.Client, e.Live = &writer{reader{e, true}}, reader{e, false}
	e.Manager = newManager(e)
	e.RateLimiter = defaultRateLimiter()
	return e
}

func defaultRateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 1000*time.Second)
}

// lock is a mutex that lets the time of a bubble advance. A goroutine that waits for a
// [sync.Mutex] would stop it.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// errOutside is the error of a request that is made while Reconcile does not run.
var errOutside = errors.New("chaos: the cluster can be used only while Reconcile runs")

// send sends a request, and then updates the time and the caches.
func (e *Env) send(ctx context.Context, q *cluster.Request) (cluster.Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return cluster.Answer{}, err
	}
	if e.now == nil {
		return cluster.Answer{}, errOutside
	}
	q.AboutAll = e.all
	a, err := e.now.Send(q)
	e.moved()
	switch {
	case errors.Is(err, cluster.ErrNoAnswer):
		return a, &url.Error{Op: "request", URL: string(q.Verb), Err: context.DeadlineExceeded}
	case errors.Is(err, cluster.ErrKilled), errors.Is(err, cluster.ErrGivenUp):
		e.stop()
		e.now = nil
		return a, &url.Error{Op: "request", URL: string(q.Verb), Err: context.Canceled}
	}
	return a, err
}

// look reads a cache.
func (e *Env) look(kind cluster.Kind) (cluster.View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return cluster.View{}, errOutside
	}
	v := e.now.Look(kind)
	e.moved()
	return v, nil
}

// moved takes over the time and the content of the caches from the cluster.
func (e *Env) moved() {
	v := e.now.Cached()
	time.Sleep(time.Until(v.Now))
	e.moving.Store(true)
	defer e.moving.Store(false)
	show(e.jobs, v.Jobs, v.JobsVersion)
	show(e.pods, v.Pods, v.PodsVersion)
}

// isPod and isJob report whether the cluster itself stores an object.
func isPod(o any) bool { _, ok := o.(*corev1.Pod); return ok }
func isJob(o any) bool { _, ok := o.(*batchv1.Job); return ok }
