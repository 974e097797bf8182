package kube_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// lagging is a client that writes live and reads from a cache.
func lagging(t *testing.T, s *kube.Server) (*kube.Cache, client.Client) {
	t.Helper()
	cache := s.NewCache(scheme.Scheme)
	c := Must(s.Client("test", scheme.Scheme, cache))
	return cache, c
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"x": value}},
		Data: map[string]string{"x": value}}
}

// shown returns the ConfigMaps that a reader shows, as name=value.
func shown(t *testing.T, r client.Reader, opts ...client.ListOption) string {
	t.Helper()
	var list corev1.ConfigMapList
	NoError(t, r.List(context.Background(), &list, opts...))
	return strings.Join(Each(list.Items, func(m corev1.ConfigMap) string { return m.Name + "=" + m.Data["x"] }), " ")
}

// history writes a=1, b=1, a=2, deletes b, and writes a=3.
func history(t *testing.T, c client.Client) {
	t.Helper()
	ctx := context.Background()
	a, b := configMap("a", "1"), configMap("b", "1")
	NoError(t, c.Create(ctx, a))
	NoError(t, c.Create(ctx, b))
	a.Data["x"] = "2"
	NoError(t, c.Update(ctx, a))
	NoError(t, c.Delete(ctx, b))
	a.Data["x"] = "3"
	NoError(t, c.Update(ctx, a))
}

// Compaction does not remove events that a cache has not shown yet.
func TestCacheSteps(t *testing.T) {
	s := kube.New(kube.Options{})
	cache, c := lagging(t, s)
	history(t, c)
	s.Compact(s.Revision())
	var got []string
	for more := true; more; _, more = cache.Step(configMapKind) {
		got = append(got, shown(t, c))
	}
	Same(t, "shown", strings.Join(got, "|"), "|a=1|a=1 b=1|a=2 b=1|a=2|a=3")
	Same(t, "lagging events", len(cache.Lagging(configMapKind)), 0)
}

func TestCacheJumps(t *testing.T) {
	s := kube.New(kube.Options{})
	cache, c := lagging(t, s)
	start := s.Revision()
	history(t, c)
	end := s.Revision()
	for _, test := range []struct {
		name string
		do   func() error
		want string
	}{
		{"the first event", func() error { cache.Step(configMapKind); return nil }, "a=1"},
		{"all", func() error { cache.CatchUp(); return nil }, "a=3"},
		{"back in time", func() error { return cache.Jump(configMapKind, start+3) }, "a=2 b=1"},
		{"the next event", func() error { cache.Step(configMapKind); return nil }, "a=2"},
		{"the beginning", func() error { return cache.Jump(configMapKind, start) }, ""},
		{"the end", func() error { return cache.Jump(configMapKind, end) }, "a=3"},
	} {
		if err := test.do(); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		Same(t, test.name+": shown", shown(t, c), test.want)
	}
	if err := cache.Jump(configMapKind, end+1); err == nil {
		t.Error("the cache jumped into the future")
	}
	s.Compact(end)
	if err := cache.Jump(configMapKind, start); err == nil {
		t.Error("the cache jumped to a compacted revision")
	}
}

func TestCacheReads(t *testing.T) {
	s := kube.New(kube.Options{Kinds: []kube.Kind{widgets}})
	cache, c := lagging(t, s)
	ctx := t.Context()
	for name, value := range map[string]string{"a": "1", "b": "2", "c": "1"} {
		NoError(t, c.Create(ctx, configMap(name, value)))
	}
	other := configMap("d", "1")
	other.Namespace = "kube-system"
	NoError(t, c.Create(ctx, other))
	cache.CatchUp()
	NoError(t, cache.IndexField(ctx, &corev1.ConfigMap{}, "x", func(o client.Object) []string { return []string{o.(*corev1.ConfigMap).Data["x"]} }))
	for want, opts := range map[string][]client.ListOption{
		"a=1 b=2 c=1 d=1": nil,
		"a=1 b=2 c=1":     {client.InNamespace("default")},
		"a=1 c=1 d=1":     {client.MatchingLabels{"x": "1"}},
		"b=2":             {client.MatchingFields{"x": "2"}},
		"a=1 b=2":         {client.Limit(2)},
	} {
		Same(t, "shown", shown(t, c, opts...), want)
	}
	if err := c.List(ctx, &corev1.ConfigMapList{}, client.MatchingFields{"y": "2"}); err == nil {
		t.Error("a field without an index was selected")
	}

	// The same objects in other Go types. The caller may change them.
	key := client.ObjectKey{Namespace: "default", Name: "a"}
	loose := &unstructured.Unstructured{}
	loose.SetGroupVersionKind(configMapKind)
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(configMapKind)
	typed := &corev1.ConfigMap{}
	for range 2 {
		for _, obj := range []client.Object{loose, meta, typed} {
			NoError(t, c.Get(ctx, key, obj))
			if obj.GetLabels()["x"] != "1" || obj.GetResourceVersion() == "" || obj.GetObjectKind().GroupVersionKind() != configMapKind {
				t.Errorf("%T: %v %s %s", obj, obj.GetLabels(), obj.GetResourceVersion(), obj.GetObjectKind().GroupVersionKind())
			}
			obj.SetLabels(map[string]string{"x": "changed"})
		}
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "z"}, typed); !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v, want NotFound", err)
	}
}
