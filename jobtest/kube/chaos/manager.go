package chaos

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// setup implements the part of a manager that SetupWithManager of a Reconciler needs. It
// starts nothing, because Reconcile is called directly.
//
// R is the result type of GetEventRecorder, which changed in controller-runtime 0.25.
type setup[R any] struct {
	manager.Manager // nil: other methods are not supported
	*Env
}

// setupOf returns the manager of a process. It infers R from the method of a manager.
func setupOf[R any](_ func(manager.Manager, string) R, e *Env) manager.Manager {
	return any(setup[R]{Env: e}).(manager.Manager)
}

func (m setup[R]) GetClient() client.Client             { return m.Client }
func (m setup[R]) GetAPIReader() client.Reader          { return m.Live }
func (m setup[R]) GetCache() ctrlcache.Cache            { return caches{Reader: m.Client, Env: m.Env} }
func (m setup[R]) GetFieldIndexer() client.FieldIndexer { return m.Env }
func (m setup[R]) GetScheme() *runtime.Scheme           { return m.Client.Scheme() }
func (m setup[R]) GetRESTMapper() meta.RESTMapper       { return m.Client.RESTMapper() }
func (m setup[R]) GetConfig() *rest.Config              { return m.Config() }
func (m setup[R]) GetHTTPClient() *http.Client          { return &http.Client{} }
func (m setup[R]) GetLogger() logr.Logger               { return logr.Discard() }
func (m setup[R]) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}
func (m setup[R]) Add(manager.Runnable) error                      { return nil }
func (m setup[R]) AddHealthzCheck(string, healthz.Checker) error   { return nil }
func (m setup[R]) AddReadyzCheck(string, healthz.Checker) error    { return nil }
func (m setup[R]) GetEventRecorderFor(string) record.EventRecorder { return &record.FakeRecorder{} }
func (m setup[R]) GetEventRecorder(string) R                       { return any(&events.FakeRecorder{}).(R) }

// caches holds the informers of a manager.
type caches struct {
	client.Reader
	*Env // has IndexField
	noCache
}

// noCache is one level down, so that its methods are those that caches lacks.
type noCache struct{ ctrlcache.Cache } // nil: they are not supported

// errNoInformer is the error of GetInformer for other kinds.
var errNoInformer = errors.New("chaos: there are informers of Jobs and pods only")

func (c caches) GetInformer(_ context.Context, of client.Object,
	_ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if x := c.storeOf(of); x != nil {
		return informer{indexer: x}, nil
	}
	return nil, errNoInformer
}

func (c caches) GetInformerForKind(ctx context.Context, kind schema.GroupVersionKind,
	_ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	of, _ := c.Client.Scheme().New(kind) // has no informer if it is not known
	object, _ := of.(client.Object)
	return c.GetInformer(ctx, object)
}

func (c caches) WaitForCacheSync(context.Context) bool { return true }

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

func (i informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	_ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler,
	_ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}
