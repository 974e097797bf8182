package chaos

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// writer is the client of a controller.
type writer struct{ reader }

var _ client.Client = &writer{}

// otherKinds returns the client for kinds other than Jobs and pods.
func (e *Env) otherKinds() (client.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.others == nil {
		c, err := kube.New(kube.Options{}).Client("chaos", scheme.Scheme, nil)
		if err != nil {
			return nil, err
		}
		e.others = c
	}
	return e.others, nil
}

// unserved returns the error of an unsupported request. It fails the test, even if
// Reconcile ignores the error.
func (e *Env) unserved(verb string, obj any) error {
	if obj != nil {
		verb += fmt.Sprintf(" of a %T", obj)
	}
	err := &referee.Violation{Property: "chaos",
		Text: verb + " is not supported: see the documentation of package chaos"}
	e.fail(err)
	return err
}

// Create implements [client.Writer].
func (w *writer) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	switch obj := obj.(type) {
	case *corev1.Event:
		return nil
	case *batchv1.Job:
		return w.unserved("the creation", obj)
	case *corev1.Pod:
		if obj.Namespace == "" {
			return apierrors.NewBadRequest("an empty namespace may not be set during creation")
		}
		if obj.ResourceVersion != "" {
			return apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		a, err := w.send(ctx, &cluster.Request{Verb: cluster.Create, Pod: obj.DeepCopy()})
		return answered(obj, a, err)
	}
	others, err := w.otherKinds()
	if err != nil {
		return err
	}
	return others.Create(ctx, obj, opts...)
}

// answered copies the stored pod into the sent one. If the pod is gone, the sent one stays
// unchanged.
func answered(obj *corev1.Pod, a cluster.Answer, err error) error {
	if err == nil && a.Pod != nil {
		a.Pod.DeepCopyInto(obj)
	}
	return err
}

// Delete implements [client.Writer].
func (w *writer) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if isJob(obj) {
		return w.unserved("the deletion", obj)
	}
	if !isPod(obj) {
		others, err := w.otherKinds()
		if err != nil {
			return err
		}
		return others.Delete(ctx, obj, opts...)
	}
	o := *(&client.DeleteOptions{}).ApplyOptions(opts).AsDeleteOptions()
	_, err := w.send(ctx, &cluster.Request{Verb: cluster.Delete, Namespace: obj.GetNamespace(),
		Name: obj.GetName(), UID: obj.GetUID(), Options: o})
	return err
}

// Update implements [client.Writer].
func (w *writer) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		if isJob(obj) {
			return w.unserved("an update", obj)
		}
		others, err := w.otherKinds()
		if err != nil {
			return err
		}
		return others.Update(ctx, obj, opts...)
	}
	sent := pod.DeepCopy()
	text, err := json.Marshal(map[string]any{"metadata": sent.ObjectMeta})
	if err != nil {
		return err
	}
	a, err := w.send(ctx, &cluster.Request{Verb: cluster.Patch, Namespace: pod.Namespace, Name: pod.Name,
		UID: pod.UID, Patch: text,
		Edit: func(old *corev1.Pod) (*corev1.Pod, error) { return updated(old, sent) }})
	return answered(pod, a, err)
}

// updated returns the next version of a pod after an update. An update can only change the
// metadata; the status is for the kubelet.
func updated(old, sent *corev1.Pod) (*corev1.Pod, error) {
	if err := versioned(sent, old); err != nil {
		return nil, err
	}
	if !equality.Semantic.DeepEqual(old.Spec, sent.Spec) {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, old.Name, nil)
	}
	if equality.Semantic.DeepEqual(old.Labels, sent.Labels) &&
		equality.Semantic.DeepEqual(old.Annotations, sent.Annotations) &&
		equality.Semantic.DeepEqual(old.Finalizers, sent.Finalizers) &&
		equality.Semantic.DeepEqual(old.OwnerReferences, sent.OwnerReferences) {
		return old, nil
	}
	next := old.DeepCopy()
	next.Labels, next.Annotations, next.Finalizers, next.OwnerReferences = sent.Labels, sent.Annotations,
		sent.Finalizers, sent.OwnerReferences
	return next, nil
}

// Patch implements [client.Writer].
func (w *writer) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		if isJob(obj) {
			return w.unserved("a patch", obj)
		}
		others, err := w.otherKinds()
		if err != nil {
			return err
		}
		return others.Patch(ctx, obj, patch, opts...)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	q := &cluster.Request{Verb: cluster.Patch, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Patch: data}
	switch patch.Type() {
	case types.StrategicMergePatchType:
	case types.MergePatchType:
		q.Edit = func(old *corev1.Pod) (*corev1.Pod, error) { return merged(old, data) }
	default:
		return w.unserved("a patch of type "+string(patch.Type()), obj)
	}
	a, err := w.send(ctx, q)
	return answered(pod, a, err)
}

// merged returns the next version of a pod after a JSON merge patch.
func merged(old *corev1.Pod, data []byte) (*corev1.Pod, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	sent := &corev1.Pod{}
	if err := json.Unmarshal(after, sent); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return updated(old, sent)
}

// Status implements [client.StatusClient].
func (w *writer) Status() client.SubResourceWriter { return &status{w} }

// SubResource implements [client.SubResourceClientConstructor].
func (w *writer) SubResource(name string) client.SubResourceClient {
	return &subResource{&status{w}, name}
}

// status writes the status of a Job.
type status struct{ *writer }

// Create implements [client.SubResourceWriter].
func (s *status) Create(_ context.Context, obj client.Object, _ client.Object,
	_ ...client.SubResourceCreateOption) error {
	return s.unserved("a subresource", obj)
}

// Apply implements [client.SubResourceWriter].
func (s *status) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return s.unserved("server-side apply", obj)
}

// Update implements [client.SubResourceWriter].
func (s *status) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		if isPod(obj) {
			return s.unserved("a status update", obj)
		}
		others, err := s.otherKinds()
		if err != nil {
			return err
		}
		return others.Status().Update(ctx, obj, opts...)
	}
	return s.store(ctx, job, &cluster.Request{Verb: cluster.Status, Job: job.DeepCopy()})
}

// Patch implements [client.SubResourceWriter].
func (s *status) Patch(ctx context.Context, obj client.Object, patch client.Patch,
	opts ...client.SubResourcePatchOption) error {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		if isPod(obj) {
			return s.unserved("a status patch", obj)
		}
		others, err := s.otherKinds()
		if err != nil {
			return err
		}
		return others.Status().Patch(ctx, obj, patch, opts...)
	}
	if patch.Type() != types.MergePatchType {
		return s.unserved("a patch of type "+string(patch.Type()), obj)
	}
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return s.store(ctx, job, &cluster.Request{Verb: cluster.Status, Patch: data})
}

func (s *status) store(ctx context.Context, job *batchv1.Job, q *cluster.Request) error {
	q.Namespace, q.Name = job.Namespace, job.Name
	a, err := s.send(ctx, q)
	if err == nil {
		a.Job.DeepCopyInto(job)
	}
	return err
}

// subResource is a subresource by its name; only the status is supported.
type subResource struct {
	*status
	name string
}

// Get implements [client.SubResourceReader].
func (s *subResource) Get(_ context.Context, obj, _ client.Object, _ ...client.SubResourceGetOption) error {
	return s.unserved("the subresource "+s.name, obj)
}

// Apply implements [client.Writer].
func (w *writer) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return w.unserved("server-side apply", obj)
}

// DeleteAllOf implements [client.Writer].
func (w *writer) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return w.unserved("the deletion of a collection", obj)
}

// Scheme implements [client.Client].
func (w *writer) Scheme() *runtime.Scheme { return scheme.Scheme }

// RESTMapper implements [client.Client].
func (w *writer) RESTMapper() meta.RESTMapper { return kube.New(kube.Options{}).RESTMapper() }

// GroupVersionKindFor implements [client.Client].
func (w *writer) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, scheme.Scheme)
}

// IsObjectNamespaced implements [client.Client].
func (w *writer) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, scheme.Scheme, w.RESTMapper())
}
