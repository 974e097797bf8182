package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/internal/story"
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
	server *kube.Server
	ask    func(*kube.Request) kube.Verdict // decides about the requests
	log    *story.Log                       // of a Creator's schedule

	cache   *kube.Cache // nil without a Creator
	running bool        // Reconcile
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
	if x := e.storeOf(of); x != nil {
		return informer{indexer: x}
	}
	_ = e.unserved("an informer", fmt.Sprintf("a %T", of)) // fails the test
	return informer{indexer: newIndexer(e, cluster.Pods, corev1.Resource("pods"))}
}

// storeOf returns the store of an object or of a list; nil if it is of another kind.
func (e *Env) storeOf(of any) *indexer {
	switch of.(type) {
	case *batchv1.Job, *batchv1.JobList:
		return e.jobs
	case *corev1.Pod, *corev1.PodList:
		return e.pods
	}
	return nil
}

// newEnv returns the Env of a process.
func newEnv(server *kube.Server) *Env {
	e := &Env{mu: make(lock, 1), server: server, log: &story.Log{}, RateLimiter: defaultRateLimiter()}
	e.ctx, e.end = context.WithCancel(context.Background())
	return e
}

// withStores adds the stores of Jobs and pods.
func (e *Env) withStores() error {
	e.jobs = newIndexer(e, cluster.Jobs, batchv1.Resource("jobs"))
	e.pods = newIndexer(e, cluster.Pods, corev1.Resource("pods"))
	e.Jobs, e.Pods, e.ask = e.jobs, e.pods, e.serve
	return e.connect(reader{e}, scheme.Scheme)
}

// connect makes the clients and the manager.
func (e *Env) connect(cached client.Reader, scheme *runtime.Scheme) error {
	config, mapper := e.Config(), e.server.RESTMapper()
	live, errLive := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	writes, errWrites := client.New(config, client.Options{Scheme: scheme, Mapper: mapper,
		Cache: &client.CacheOptions{Reader: cached, Unstructured: true}})
	e.Client, e.Live, e.Manager = writes, live, setupOf(manager.Manager.GetEventRecorder, e)
	return errors.Join(errLive, errWrites)
}

// Config returns the config for a clientset of client-go, which reads live. It supports the
// requests of Client and Live, but no watches of Jobs and pods: use [Env.Informer].
func (e *Env) Config() *rest.Config {
	config := e.server.ConfigFor(e.ask)
	config.UserAgent = agent
	config.Transport = transport{config.Transport, e.log}
	return config
}

// transport is the API server, except that clients of client-go do not send a request again
// by themselves: the Reconciler gets every error. It logs the writes that are rejected.
type transport struct {
	server http.RoundTripper
	log    *story.Log
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.server.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Header.Del("Retry-After")
	if response.StatusCode < 400 || !t.log.On || r.Method == http.MethodGet {
		return response, nil
	}
	text, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(text))
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil {
		t.log.Say("the answer to %s %s is: %s", r.Method, path.Base(strings.TrimSuffix(r.URL.Path, "/status")),
			status.Message)
	}
	return response, err
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

// moved takes over the time and the content of the caches from the cluster.
func (e *Env) moved() {
	v := e.now.Cached()
	time.Sleep(time.Until(v.Now))
	e.moving.Store(true)
	defer e.moving.Store(false)
	show(e.jobs, v.Jobs, v.JobsVersion)
	show(e.pods, v.Pods, v.PodsVersion)
}
