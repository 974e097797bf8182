package chaos

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// reader reads Jobs and pods from the caches, and other kinds live.
type reader struct{ *Env }

// Get implements [client.Reader].
func (r reader) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	x := r.storeOf(out)
	if x == nil {
		return r.Live.Get(ctx, key, out, opts...)
	}
	if _, err := x.reread(); err != nil {
		return err
	}
	found, ok, _ := x.Indexer.GetByKey(key.String())
	if !ok {
		return apierrors.NewNotFound(x.resource, key.Name)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(found.(client.Object).DeepCopyObject()).Elem())
	return nil
}

// List implements [client.Reader].
func (r reader) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	x := r.storeOf(out)
	if x == nil {
		return r.Live.List(ctx, out, opts...)
	}
	version, err := x.reread()
	if err != nil {
		return err
	}
	o := (&client.ListOptions{}).ApplyOptions(opts)
	var items []runtime.Object
	found, _ := sorted(x.Indexer.List(), nil)
	for i := range found {
		obj := found[i].(client.Object)
		matches, err := kube.Matches(o, obj, x.fields)
		if err != nil {
			return err
		}
		if matches {
			items = append(items, obj.DeepCopyObject())
		}
	}
	out.SetResourceVersion(version)
	return meta.SetList(out, items)
}

// IndexField implements [client.FieldIndexer], for Jobs and pods.
func (e *Env) IndexField(ctx context.Context, of client.Object, field string, extract client.IndexerFunc) error {
	if e.cache != nil {
		return e.cache.IndexField(ctx, of, field, extract)
	}
	x := e.storeOf(of)
	if x == nil {
		return errNoInformer
	}
	if x.fields == nil {
		x.fields = map[string]client.IndexerFunc{}
	}
	x.fields[field] = extract
	return nil
}
