package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// serve decides about a request of the controller. The cluster of the schedule has the Jobs
// and the pods, package kube everything else.
func (e *Env) serve(r *kube.Request) kube.Verdict {
	of := r.Resource.GroupResource()
	switch of {
	case corev1.Resource("events"):
		return kube.Verdict{Answer: &kube.Answer{Objects: []kube.Object{&corev1.Event{}}}}
	case batchv1.Resource("jobs"), corev1.Resource("pods"):
	default:
		return kube.Verdict{}
	}
	q, err := e.request(r)
	if err != nil {
		return kube.Verdict{Err: err}
	}
	a, err := e.send(q)
	if err != nil {
		return kube.Verdict{Err: err}
	}
	answer := &kube.Answer{Version: a.Version}
	switch {
	case a.Job != nil:
		answer.Objects = append(answer.Objects, a.Job)
	case a.Pod != nil:
		answer.Objects = append(answer.Objects, a.Pod)
	case q.Verb == cluster.Patch: // the pod is gone with its last finalizer
		answer.Objects = append(answer.Objects,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}})
	}
	for _, job := range a.Jobs {
		answer.Objects = append(answer.Objects, job)
	}
	for _, pod := range a.Pods {
		answer.Objects = append(answer.Objects, pod)
	}
	return kube.Verdict{Answer: answer}
}

// request returns a request for Jobs or pods as the cluster serves it.
func (e *Env) request(r *kube.Request) (q *cluster.Request, err error) {
	var sent kube.Object
	if r.Verb == "create" || r.Verb == "update" {
		if sent, err = r.Decode(); err != nil {
			return nil, err
		}
	}
	q = &cluster.Request{Namespace: r.Namespace, Name: r.Name}
	of := r.Resource.Resource
	if r.Subresource != "" {
		of += "/" + r.Subresource
	}
	switch r.Verb + " " + of {
	case "get jobs":
		q.Verb = cluster.Get
	case "list jobs":
		q.Verb = cluster.ListJobs
	case "update jobs/status":
		q.Verb, q.Job = cluster.Status, sent.(*batchv1.Job)
	case "patch jobs/status":
		if r.ContentType != string(types.MergePatchType) {
			return nil, e.unserved("a patch of type "+r.ContentType, of)
		}
		q.Verb, q.Patch = cluster.Status, r.Body
	case "get pods":
		q.Verb = cluster.GetPod
	case "list pods":
		q.Verb = cluster.List
	case "create pods":
		if sent.GetResourceVersion() != "" {
			return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
		}
		q.Verb, q.Pod = cluster.Create, sent.(*corev1.Pod)
	case "update pods":
		q.Verb = cluster.Patch
		q.Patch, err = json.Marshal(map[string]any{"metadata": sent.(*corev1.Pod).ObjectMeta})
		q.Edit = func(old *corev1.Pod) (*corev1.Pod, error) { return updated(old, sent.(*corev1.Pod)) }
	case "patch pods":
		q.Verb, q.Patch = cluster.Patch, r.Body
		if r.ContentType == string(types.StrategicMergePatchType) {
			break // the cluster applies it
		}
		q.Edit = func(old *corev1.Pod) (*corev1.Pod, error) {
			next, err := r.Patched(old)
			if err != nil {
				return nil, err
			}
			return updated(old, next.(*corev1.Pod))
		}
	case "delete pods":
		var options *metav1.DeleteOptions
		if options, err = r.DeleteOptions(); err == nil {
			q.Verb, q.Options = cluster.Delete, *options
		}
	default:
		return nil, e.unserved("a "+r.Verb, of)
	}
	return q, err
}

// updated returns the next version of a pod after an update or a patch. They can only change
// the metadata; the status is for the kubelet.
func updated(old, sent *corev1.Pod) (*corev1.Pod, error) {
	switch {
	case sent.UID != "" && sent.UID != old.UID:
		return nil, apierrors.NewConflict(corev1.Resource("pods"), old.Name,
			fmt.Errorf("the UID is %q", old.UID))
	case sent.ResourceVersion != "" && sent.ResourceVersion != old.ResourceVersion:
		return nil, apierrors.NewConflict(corev1.Resource("pods"), old.Name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	case !equality.Semantic.DeepEqual(old.Spec, sent.Spec):
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), old.Name, nil)
	}
	edited := *old
	edited.Labels, edited.Annotations, edited.Finalizers, edited.OwnerReferences = sent.Labels, sent.Annotations,
		sent.Finalizers, sent.OwnerReferences
	if equality.Semantic.DeepEqual(old.ObjectMeta, edited.ObjectMeta) {
		return old, nil
	}
	return &edited, nil
}

// send sends a request to the cluster, and then updates the time and the caches.
func (e *Env) send(q *cluster.Request) (cluster.Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now == nil {
		return cluster.Answer{}, errOutside
	}
	q.AboutAll = e.all
	a, err := e.now.Send(q)
	e.moved()
	return a, e.answer(err)
}

// answer returns the error that Reconcile gets. It ends a Reconcile that is killed or abandoned.
func (e *Env) answer(err error) error {
	switch {
	case errors.Is(err, cluster.ErrNoAnswer):
		return context.DeadlineExceeded
	case errors.Is(err, cluster.ErrKilled), errors.Is(err, cluster.ErrGivenUp):
		e.stop()
		e.now, e.running = nil, false
		return context.Canceled
	}
	return err
}

// unserved returns the error of an unsupported request. It fails the test, even if Reconcile
// ignores the error.
func (e *Env) unserved(what string, of any) error {
	err := &referee.Violation{Property: "chaos",
		Text: fmt.Sprintf("%s of %v is not supported: see the documentation of package chaos", what, of)}
	e.fail(err)
	return err
}
