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
	// pageSize is the number of objects in a page, and pagesAhead the number of pages that
	// are read ahead.
	pageSize, pagesAhead = 500, 1
	// retryAfter is how long a watch waits after an error.
	retryAfter = 2 * time.Second
)

// client lists and watches objects of a kind.
type client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// table holds the needed parts of the objects of a kind. It is filled once, or follows the
// cluster as the store of a reflector.
type table[T any] struct {
	resource string
	// keep returns the needed part of an object, or false if the object is not needed.
	keep func(runtime.Object) (T, bool, error)
	// labels and fields select the objects.
	labels, fields string
	cache.ListWatch

	mu      sync.Mutex
	objects map[string]T // by namespace and name
	failure error        // the error of the last request; nil if it succeeded

	changed func()
	fail    func(error)   // is called if the table cannot follow the cluster
	ready   chan struct{} // is closed once the table is filled, or cannot be filled
	done    func()        // closes ready
}

func newTable[T any, L runtime.Object](resource string, c client[L],
	keep func(runtime.Object) (T, bool, error)) *table[T] {
	t := &table[T]{resource: resource, keep: keep, objects: map[string]T{}, changed: func() {},
		fail: func(error) {}, ready: make(chan struct{})}
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

// tried records the result of a request.
func (t *table[T]) tried(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if (err == nil) != (t.failure == nil) {
		defer t.changed()
	}
	t.failure = err
	select {
	case <-t.ready:
	default:
		if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown { // no server has answered yet
			t.fail(err)
		}
	}
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

// follow keeps the table up to date until the context ends or the server refuses the request.
// After other errors it retries.
func (t *table[T]) follow(ctx context.Context) {
	defer t.done()
	r := cache.NewReflectorWithOptions(&t.ListWatch, nil, t,
		cache.ReflectorOptions{Name: t.resource, TypeDescription: t.resource})
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

// refused reports whether an error means that repeating the request is useless.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) ||
		apierrors.IsMethodNotSupported(err)
}

// values returns the objects in the order of namespaces and names.
func (t *table[T]) values() (out []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(t.objects)) {
		out = append(out, t.objects[key])
	}
	return out
}

// put adds an object or replaces an older version.
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

// Add implements [cache.ReflectorStore], like the methods below. It does not return the error of an
// unreadable object, because the reflector would only retry.
func (t *table[T]) Add(object any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()
	if err := t.put(object); err != nil {
		t.fail(err)
	}
	return nil
}

// Update replaces an object by its new version.
func (t *table[T]) Update(object any) error { return t.Add(object) }

// Delete removes an object.
func (t *table[T]) Delete(object any) error {
	key, err := cache.MetaNamespaceKeyFunc(object)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed()
	delete(t.objects, key)
	return err
}

// Replace replaces all objects.
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
