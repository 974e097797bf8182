package kube_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/events"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/kube"
)

func TestProtobufClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		config := s.Config()
		config.ContentType = runtime.ContentTypeProtobuf
		client := kubernetes.NewForConfigOrDie(config)
		ctx := t.Context()
		w := Must(client.BatchV1().Jobs("").Watch(ctx, metav1.ListOptions{}))
		defer w.Stop()
		jobs := client.BatchV1().Jobs("default")
		job := Must(jobs.Create(ctx, PlainJob("a"), metav1.CreateOptions{}))
		Same(t, "the UID that the watch shows", (<-w.ResultChan()).Object.(*batchv1.Job).UID, job.UID)
		job.Spec.Parallelism = new(int32(2))
		Same(t, "the generation after an update", Must(jobs.Update(ctx, job, metav1.UpdateOptions{})).Generation, 2)
		err := jobs.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("other"))}})
		if !apierrors.IsConflict(err) {
			t.Errorf("the deletion of another: %v", err)
		}
		NoError(t, jobs.Delete(ctx, "a", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
		if job := Must(jobs.Get(ctx, "a", metav1.GetOptions{})); !slices.Contains(job.Finalizers, metav1.FinalizerDeleteDependents) {
			t.Errorf("after the deletion: %v", job)
		}
	})
}

func TestDynamicAndMetadataClients(t *testing.T) {
	s := kube.New(kube.Options{Kinds: []kube.Kind{widgets}})
	ctx := t.Context()
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kubernetes.NewForConfigOrDie(s.Config()).Discovery()))
	loose := Must(dynamic.NewForConfig(s.Config()))
	only := Must(metadata.NewForConfig(s.Config()))
	for _, test := range []struct {
		kind    schema.GroupKind
		content map[string]any
	}{
		{schema.GroupKind{Group: "example.com", Kind: "Widget"}, map[string]any{"spec": map[string]any{"size": int64(1)}}},
		{schema.GroupKind{Kind: "ConfigMap"}, map[string]any{"data": map[string]any{"x": "y"}}},
	} {
		mapping := Must(mapper.RESTMapping(test.kind))
		own, err := s.RESTMapper().RESTMapping(test.kind)
		if err != nil || own.Resource != mapping.Resource || own.Scope.Name() != mapping.Scope.Name() {
			t.Errorf("mapped to %v and %v, %v", own, mapping, err)
		}
		obj := &unstructured.Unstructured{Object: test.content}
		obj.SetGroupVersionKind(mapping.GroupVersionKind)
		obj.SetName("a")
		made := Must(loose.Resource(mapping.Resource).Namespace("default").Create(ctx, obj, metav1.CreateOptions{}))
		part, err := only.Resource(mapping.Resource).Namespace("default").Get(ctx, "a", metav1.GetOptions{})
		if err != nil || part.UID != made.GetUID() {
			t.Errorf("the metadata: %v, %v", part, err)
		}
		if list, err := only.Resource(mapping.Resource).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
			t.Errorf("the list: %v, %v", list, err)
		}
	}
	if _, err := mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Gadget"}); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not served: %v", err)
	}
}

// Events of events.k8s.io and of core/v1 are the same objects.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kube.New(kube.Options{})
		client := kubernetes.NewForConfigOrDie(s.Config())
		job := Must(client.BatchV1().Jobs("default").Create(t.Context(), PlainJob("a"), metav1.CreateOptions{}))
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
		ctx, cancel := context.WithCancel(t.Context())
		NoError(t, broadcaster.StartRecordingToSinkWithContext(ctx))
		recorder := broadcaster.NewRecorder(scheme.Scheme, "controller")
		for range 3 {
			recorder.Eventf(job, nil, corev1.EventTypeNormal, "Started", "Start", "it begins")
			settle()
		}
		old, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=Started"})
		if err != nil || len(old.Items) != 1 || old.Items[0].Message != "it begins" || old.Items[0].Series == nil {
			t.Errorf("core/v1 shows %+v, %v", old, err)
		}
		newer, err := client.EventsV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil || len(newer.Items) != 1 || newer.Items[0].Note != "it begins" || newer.Items[0].UID != old.Items[0].UID {
			t.Errorf("events.k8s.io shows %+v, %v", newer, err)
		}
		cancel()
		broadcaster.Shutdown()
	})
}

// The collector deletes the content of a terminating namespace, and then the namespace.
func TestTerminatingNamespace(t *testing.T) {
	s := kube.New(kube.Options{})
	client := kubernetes.NewForConfigOrDie(s.Config())
	ctx := t.Context()
	Must(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}))
	for _, name := range []string{"a", "b"} {
		job := PlainJob(name)
		job.Namespace = "n"
		Must(client.BatchV1().Jobs("n").Create(ctx, job, metav1.CreateOptions{}))
	}
	NoError(t, client.CoreV1().Namespaces().Delete(ctx, "n", metav1.DeleteOptions{}))
	Same(t, "steps to empty and remove the namespace", (kube.Collector{Server: s}).Run(), 3)
	if _, left := kube.Get[*corev1.Namespace](s, "", "n"); left || len(kube.List[*batchv1.Job](s, "")) != 0 {
		t.Error("the namespace or a Job is left")
	}
}

// A test that edits objects of no kind would prove nothing.
func TestEdit_noKind(t *testing.T) {
	defer func() {
		if why := recover(); why != "kube: kube.Object is the type of no built-in kind" {
			t.Errorf("Edit of an interface: %v, want a panic that names it", why)
		}
	}()
	kube.Edit(kube.New(kube.Options{}), "default", "a", func(kube.Object) {})
}
