package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	watchapi "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Cache is a [client.Reader] that lags behind the server. The test controls the lag of each
// kind. It makes no requests and starts no goroutine.
type Cache struct {
	s      *Server
	scheme *runtime.Scheme

	// Guarded by the server's lock.
	views   map[*kind]*view
	indexes map[schema.GroupVersionKind]map[string]client.IndexerFunc
}

// view is the content of a cache for a kind.
type view struct {
	*kind
	objects map[string]*version
	upto    int64 // the revision up to which every event is shown
}

var (
	_ client.Reader       = &Cache{}
	_ client.FieldIndexer = &Cache{}
)

// NewCache returns a cache that is up to date.
func (s *Server) NewCache(scheme *runtime.Scheme) *Cache {
	c := &Cache{s: s, scheme: scheme, views: map[*kind]*view{},
		indexes: map[schema.GroupVersionKind]map[string]client.IndexerFunc{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kinds {
		c.views[k] = newView(k, s.revision)
	}
	s.caches = append(s.caches, c)
	return c
}

// newView returns the view of a kind at a revision, which must not be compacted.
func newView(k *kind, revision int64) *view {
	return &view{kind: k, objects: k.at(revision), upto: revision}
}

// lock locks the server and returns the view of a kind. The caller must unlock.
func (c *Cache) lock(gvk schema.GroupVersionKind) (*view, error) {
	c.s.mu.Lock()
	if k := c.s.kindOf(gvk); k != nil {
		return c.views[k], nil
	}
	c.s.mu.Unlock()
	return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
}

// Lagging returns the events of a kind that the cache does not show yet, in order.
func (c *Cache) Lagging(gvk schema.GroupVersionKind) []Event {
	v, err := c.lock(gvk)
	if err != nil {
		return nil
	}
	defer c.s.mu.Unlock()
	return slices.Clone(v.since(v.upto))
}

// Step shows the next event of a kind and returns it.
func (c *Cache) Step(gvk schema.GroupVersionKind) (Event, bool) {
	v, err := c.lock(gvk)
	if err != nil {
		return Event{}, false
	}
	defer c.s.mu.Unlock()
	lagging := v.since(v.upto)
	if len(lagging) == 0 {
		return Event{}, false
	}
	e := lagging[0]
	if e.Type == watchapi.Deleted {
		delete(v.objects, keyOf(e.Object))
	} else {
		v.objects[keyOf(e.Object)] = e.now
	}
	v.upto = e.Revision
	if len(lagging) == 1 {
		v.upto = v.s.revision
	}
	return e, true
}

// CatchUp makes the cache up to date for all kinds.
func (c *Cache) CatchUp() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for k := range c.views {
		c.views[k] = newView(k, c.s.revision)
	}
}

// Jump shows a kind as it was at a revision, which may be earlier or later than the current
// one. A restarted controller may see an earlier state if it reads from a stale server.
func (c *Cache) Jump(gvk schema.GroupVersionKind, revision int64) error {
	v, err := c.lock(gvk)
	if err != nil {
		return err
	}
	defer c.s.mu.Unlock()
	if revision < v.compacted || revision > c.s.revision {
		return fmt.Errorf("revision %d of %s is not known: the known revisions are %d to %d", revision,
			gvk.Kind, v.compacted, c.s.revision)
	}
	c.views[v.kind] = newView(v.kind, revision)
	return nil
}

// IndexField implements [client.FieldIndexer].
func (c *Cache) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.indexes[gvk] == nil {
		c.indexes[gvk] = map[string]client.IndexerFunc{}
	}
	c.indexes[gvk][field] = extract
	return nil
}

// Get implements [client.Reader].
func (c *Cache) Get(_ context.Context, id client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, c.scheme)
	if err != nil {
		return err
	}
	v, err := c.lock(gvk)
	if err != nil {
		return err
	}
	defer c.s.mu.Unlock()
	found := v.objects[key(id.Namespace, id.Name)]
	if found == nil {
		return apierrors.NewNotFound(v.groupResource(), id.Name)
	}
	obj, err := v.as(found, reflect.TypeOf(out))
	if err != nil {
		return err
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// as returns a version as an object of a Go type.
func (v *view) as(found *version, want reflect.Type) (client.Object, error) {
	if reflect.TypeOf(found.obj) == want {
		return found.obj, nil
	}
	obj, ok := reflect.New(want.Elem()).Interface().(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", want)
	}
	return obj, json.Unmarshal(v.appendJSON(nil, found, false), obj)
}

// List implements [client.Reader].
func (c *Cache) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	options := (&client.ListOptions{}).ApplyOptions(opts)
	item, err := c.itemType(gvk, out)
	if err != nil {
		return err
	}
	v, err := c.lock(gvk)
	if err != nil {
		return err
	}
	defer c.s.mu.Unlock()
	var items []runtime.Object
	for _, id := range slices.Sorted(maps.Keys(v.objects)) {
		obj, err := v.as(v.objects[id], item)
		if err != nil {
			return err
		}
		if matches, err := Matches(options, obj, c.indexes[gvk]); err != nil {
			return err
		} else if !matches {
			continue
		}
		shown := obj.DeepCopyObject()
		shown.GetObjectKind().SetGroupVersionKind(gvk)
		if items = append(items, shown); options.Limit > 0 && int64(len(items)) == options.Limit {
			break
		}
	}
	out.SetResourceVersion(strconv.FormatInt(v.upto, 10))
	return meta.SetList(out, items)
}

// itemType returns the Go type of the items of a list.
func (c *Cache) itemType(gvk schema.GroupVersionKind, list client.ObjectList) (reflect.Type, error) {
	switch list.(type) {
	case *unstructured.UnstructuredList:
		return reflect.TypeFor[*unstructured.Unstructured](), nil
	case *metav1.PartialObjectMetadataList:
		return reflect.TypeFor[*metav1.PartialObjectMetadata](), nil
	}
	item, err := c.scheme.New(gvk)
	return reflect.TypeOf(item), err
}

// Matches reports whether a list with these options has an object. As in the cache of
// controller-runtime, only indexed fields can be selected.
func Matches(o *client.ListOptions, obj client.Object, indexes map[string]client.IndexerFunc) (bool, error) {
	if o.Namespace != "" && o.Namespace != obj.GetNamespace() ||
		o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
		return false, nil
	}
	if o.FieldSelector == nil {
		return true, nil
	}
	for _, r := range o.FieldSelector.Requirements() {
		extract := indexes[r.Field]
		if extract == nil {
			return false, fmt.Errorf("there is no index of the field %s: see IndexField", r.Field)
		}
		if !slices.Contains(extract(obj), r.Value) {
			return false, nil
		}
	}
	return true, nil
}

// Client returns a controller-runtime client that writes to the server, with a user agent
// that Intercept sees. It reads from the cache, or from the server if the cache is nil.
func (s *Server) Client(userAgent string, scheme *runtime.Scheme, from *Cache) (client.Client, error) {
	config := s.Config()
	config.UserAgent = userAgent
	options := client.Options{Scheme: scheme, Mapper: s.RESTMapper()}
	if from != nil {
		options.Cache = &client.CacheOptions{Reader: from, Unstructured: true}
	}
	return client.New(config, options)
}
