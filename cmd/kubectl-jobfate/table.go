package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

const (
	// pageSize is how many objects are asked for at once, and pagesAhead how many pages
	// are held while one is looked at.
	pageSize, pagesAhead = 500, 1
	// retryAfter is how long a watch waits after an error.
	retryAfter = 2 * time.Second
)

// client lists and watches a kind.
type client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// table holds what is kept of the objects of a kind. It is filled once, or follows the
// cluster, as the store of a reflector.
type table[T any] struct {
	resource string
	// keep takes from an object what is needed, or nothing.
	keep func(runtime.Object) (T, bool, error)
	// labels and fields select the objects.
	labels, fields string
	cache.ListWatch

	mu      sync.Mutex
	objects map[string]T // by namespace and name
	failure error        // of the last request

	changed func()
	fail    func(error)   // says that the table cannot follow
	ready   chan struct{} // closed when the table is filled, or will not be
	done    func()        // closes it
}

func newTable[T any, L runtime.Object](resource string, c client[L], keep func(runtime.Object) (T, bool, error)) *table[T] {
	t := &table[T]{resource: resource, keep: keep, objects: map[string]T{}, changed: func() {}, fail: func(error) {}, ready: make(chan struct{})}
	t.done = sync.OnceFunc(func() { close(t.ready) })
	t.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		options.LabelSelector, options.FieldSelector = t.labels, t.fields
		list, err := c.List(ctx, options)
		return list, t.tried(err)
	}
	t.WatchFuncWithContext = func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector, options.FieldSelector = t.labels, t.fields
		w, err := c.Watch(ctx, options)
		return w, t.tried(err)
	}
	return t
}

// tried notes how a request went.
func (t *table[T]) tried(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if (err == nil) != (t.failure == nil) {
		defer t.changed()
	}
	t.failure = err
	return err
}

// fill lists the objects, in pages.
func (t *table[T]) fill(ctx context.Context) error {
	p := pager.New(pager.ListPageFunc(t.ListWithContextFunc))
	p.PageSize, p.PageBufferSize = pageSize, pagesAhead
	return p.EachListItemWithAlloc(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.put(object)
	})
}

// follow keeps the table up to date until the context ends or the server refuses to
// answer. When there is no answer, it tries again.
func (t *table[T]) follow(ctx context.Context) {
	defer t.done()
	r := cache.NewReflectorWithOptions(&t.ListWatch, nil, t, cache.ReflectorOptions{Name: t.resource, TypeDescription: t.resource})
	for {
		err := r.ListAndWatchWithContext(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case refused(err):
			t.fail(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// refused reports whether the server has answered that it will not answer.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// values returns what is kept, in the order of namespaces and names.
func (t *table[T]) values() (out []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(t.objects)) {
		out = append(out, t.objects[key])
	}
	return out
}

// put adds an object or puts it in the place of an older one.
func (t *table[T]) put(object any) error {
	key, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return err
	}
	kept, some, err := t.keep(object.(runtime.Object))
	if some {
		t.objects[key] = kept
	}
	return err
}

// Add implements [cache.ReflectorStore], as the methods below do. An object that cannot be
// read is no matter of the reflector, which would try again.
func (t *table[T]) Add(object any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()
	if err := t.put(object); err != nil {
		t.fail(err)
	}
	return nil
}

// Update takes the new version of an object.
func (t *table[T]) Update(object any) error { return t.Add(object) }

// Delete forgets an object.
func (t *table[T]) Delete(object any) error {
	key, err := cache.MetaNamespaceKeyFunc(object)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()
	delete(t.objects, key)
	return err
}

// Replace takes a whole list.
func (t *table[T]) Replace(objects []any, _ string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()
	clear(t.objects)
	for _, object := range objects {
		if err := t.put(object); err != nil {
			t.fail(err)
		}
	}
	t.done()
	return nil
}

// Resync does nothing.
func (t *table[T]) Resync() error { return nil }
