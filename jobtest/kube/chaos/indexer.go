package chaos

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// indexer is the store of an informer. It records the reads of Reconcile.
type indexer struct {
	cache.Indexer
	env      *Env
	kind     cluster.Kind
	resource schema.GroupResource
	shown    map[string]client.Object
	version  string
	handlers []cache.ResourceEventHandler
	fields   map[string]client.IndexerFunc
}

func newIndexer(e *Env, kind cluster.Kind, resource schema.GroupResource) *indexer {
	return &indexer{
		Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		env: e, kind: kind, resource: resource, shown: map[string]client.Object{},
	}
}

// show replaces the content of an indexer, and calls its handlers.
func show[T client.Object](x *indexer, objects []T, version string) {
	x.version = version
	for _, obj := range objects {
		key := client.ObjectKeyFromObject(obj).String()
		old := x.shown[key]
		if client.Object(obj) == old {
			continue
		}
		x.shown[key] = obj
		_ = x.Indexer.Update(obj) // fails only for objects without a name
		for _, h := range x.handlers {
			switch {
			case old == nil:
				h.OnAdd(obj, false)
			case old.GetUID() != obj.GetUID(): // the deletion was not observed
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: key, Obj: old})
				h.OnAdd(obj, false)
			default:
				h.OnUpdate(old, obj)
			}
		}
	}
	if len(objects) == len(x.shown) {
		return
	}
	left := make(map[string]bool, len(objects))
	for _, obj := range objects {
		left[client.ObjectKeyFromObject(obj).String()] = true
	}
	for _, key := range slices.Sorted(maps.Keys(x.shown)) {
		if old := x.shown[key]; !left[key] {
			delete(x.shown, key)
			_ = x.Indexer.Delete(old)
			for _, h := range x.handlers {
				h.OnDelete(old)
			}
		}
	}
}

// LastStoreSyncResourceVersion implements [cache.Store].
func (x *indexer) LastStoreSyncResourceVersion() string { return x.version }

// reread updates the store from the cache, records the read, and returns the version of the
// cache. In event handlers it only returns the version. Outside Reconcile it fails.
func (x *indexer) reread() (version string, err error) {
	if x.env.moving.Load() {
		return x.version, nil
	}
	x.env.mu.Lock()
	defer x.env.mu.Unlock()
	if x.env.now == nil {
		return "", errOutside
	}
	x.env.now.Reread(x.kind)
	x.env.moved()
	return x.version, nil
}

// sorted sorts the objects that a store returns, so that their order is deterministic.
func sorted(found []any, err error) ([]any, error) {
	slices.SortFunc(found, func(a, b any) int {
		return strings.Compare(client.ObjectKeyFromObject(a.(client.Object)).String(),
			client.ObjectKeyFromObject(b.(client.Object)).String())
	})
	return found, err
}

// List implements [cache.Store].
func (x *indexer) List() []any {
	_, _ = x.reread()
	found, _ := sorted(x.Indexer.List(), nil)
	return found
}

// ListKeys implements [cache.Store].
func (x *indexer) ListKeys() []string {
	_, _ = x.reread()
	return slices.Sorted(slices.Values(x.Indexer.ListKeys()))
}

// Get implements [cache.Store].
func (x *indexer) Get(obj any) (any, bool, error) {
	_, _ = x.reread()
	return x.Indexer.Get(obj)
}

// GetByKey implements [cache.Store].
func (x *indexer) GetByKey(key string) (any, bool, error) {
	_, _ = x.reread()
	return x.Indexer.GetByKey(key)
}

// Index implements [cache.Indexer].
func (x *indexer) Index(name string, obj any) ([]any, error) {
	_, _ = x.reread()
	return sorted(x.Indexer.Index(name, obj))
}

// ByIndex implements [cache.Indexer].
func (x *indexer) ByIndex(name, value string) ([]any, error) {
	_, _ = x.reread()
	return sorted(x.Indexer.ByIndex(name, value))
}

// IndexKeys implements [cache.Indexer].
func (x *indexer) IndexKeys(name, value string) ([]string, error) {
	_, _ = x.reread()
	keys, err := x.Indexer.IndexKeys(name, value)
	slices.Sort(keys)
	return keys, err
}
