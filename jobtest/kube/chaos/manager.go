package chaos

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// A manager is what SetupWithManager of a Reconciler needs. It starts nothing: Reconcile
// is called directly.
type setup struct {
	manager.Manager // nil: what is not here is not served
	*Env
}

func (m setup) GetClient() client.Client             { return m.Client }
func (m setup) GetAPIReader() client.Reader          { return m.Live }
func (m setup) GetCache() ctrlcache.Cache            { return caches{m.Client, nil, m.Env} }
func (m setup) GetFieldIndexer() client.FieldIndexer { return m.Env }
func (m setup) GetScheme() *runtime.Scheme           { return scheme.Scheme }
func (m setup) GetRESTMapper() meta.RESTMapper       { return m.Client.RESTMapper() }
func (m setup) GetConfig() *rest.Config              { return &rest.Config{} }
func (m setup) GetHTTPClient() *http.Client          { return &http.Client{} }
func (m setup) GetLogger() logr.Logger               { return logr.Discard() }
func (m setup) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}
func (m setup) Add(manager.Runnable) error                      { return nil }
func (m setup) AddHealthzCheck(string, healthz.Checker) error   { return nil }
func (m setup) AddReadyzCheck(string, healthz.Checker) error    { return nil }
func (m setup) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }
func (m setup) GetEventRecorder(string) events.EventRecorder    { return &events.FakeRecorder{} }

// caches are the informers of a manager.
type caches struct {
	client.Reader
	ctrlcache.Cache // nil
	env             *Env
}

func (c caches) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	return c.Reader.Get(ctx, key, out, opts...)
}

func (c caches) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	return c.Reader.List(ctx, out, opts...)
}

// errNoInformer is what GetInformer returns for kinds that the caches do not hold.
var errNoInformer = errors.New("chaos: there are informers of Jobs and pods only")

func (c caches) GetInformer(_ context.Context, of client.Object, _ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	switch {
	case isJob(of):
		return informer{indexer: c.env.jobs}, nil
	case isPod(of):
		return informer{indexer: c.env.pods}, nil
	}
	return nil, errNoInformer
}

func (c caches) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind, _ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	switch kind {
	case batchv1.SchemeGroupVersion.WithKind("Job"):
		return c.GetInformer(ctx, &batchv1.Job{})
	case corev1.SchemeGroupVersion.WithKind("Pod"):
		return c.GetInformer(ctx, &corev1.Pod{})
	}
	return nil, errNoInformer
}

func (c caches) WaitForCacheSync(context.Context) bool { return true }

func (c caches) IndexField(ctx context.Context, of client.Object, field string, extract client.IndexerFunc) error {
	return c.env.IndexField(ctx, of, field, extract)
}

// informer has the store of a cache, and registers event handlers.
type informer struct {
	cache.SharedIndexInformer // nil
	indexer                   *indexer
}

func (i informer) GetIndexer() cache.Indexer             { return i.indexer }
func (i informer) GetStore() cache.Store                 { return i.indexer }
func (i informer) AddIndexers(more cache.Indexers) error { return i.indexer.AddIndexers(more) }
func (i informer) HasSynced() bool                       { return true }
func (i informer) IsStopped() bool                       { return false }
func (i informer) LastSyncResourceVersion() string       { return i.indexer.version }

func (i informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.indexer.handlers = append(i.indexer.handlers, h)
	return i, nil
}

func (i informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}
