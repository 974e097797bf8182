package chaos

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// reader reads Jobs and pods, from the caches or live.
type reader struct {
	*Env
	cached bool
}

var (
	jobs = batchv1.Resource("jobs")
	pods = corev1.Resource("pods")
)

// Get implements [client.Reader].
func (r reader) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	switch out := out.(type) {
	case *batchv1.Job:
		job, err := r.job(ctx, key)
		if err == nil && job == nil {
			err = apierrors.NewNotFound(jobs, key.Name)
		}
		if err == nil {
			job.DeepCopyInto(out)
		}
		return err
	case *corev1.Pod:
		pod, err := r.pod(ctx, key)
		if err == nil {
			pod.DeepCopyInto(out)
		}
		return err
	}
	others, err := r.otherKinds()
	if err != nil {
		return err
	}
	return others.Get(ctx, key, out, opts...)
}

// job returns a Job; nil if there is none.
func (r reader) job(ctx context.Context, key client.ObjectKey) (*batchv1.Job, error) {
	if !r.cached {
		a, err := r.send(ctx, &cluster.Request{Verb: cluster.Get, Namespace: key.Namespace, Name: key.Name})
		return a.Job, err
	}
	v, err := r.look(cluster.Jobs)
	if i := slices.IndexFunc(v.Jobs,
		func(job *batchv1.Job) bool { return client.ObjectKeyFromObject(job) == key }); i >= 0 {
		return v.Jobs[i], err
	}
	return nil, err
}

// allJobs returns all Jobs, and the version of the list.
func (r reader) allJobs(ctx context.Context) ([]*batchv1.Job, string, error) {
	if r.cached {
		v, err := r.look(cluster.Jobs)
		return v.Jobs, v.JobsVersion, err
	}
	a, err := r.send(ctx, &cluster.Request{Verb: cluster.ListJobs})
	return a.Jobs, a.Version, err
}

func (r reader) pod(ctx context.Context, key client.ObjectKey) (*corev1.Pod, error) {
	if !r.cached {
		a, err := r.send(ctx, &cluster.Request{Verb: cluster.GetPod, Namespace: key.Namespace, Name: key.Name})
		return a.Pod, err
	}
	v, err := r.look(cluster.Pods)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(v.Pods, func(p *corev1.Pod) bool { return client.ObjectKeyFromObject(p) == key }); i >= 0 {
		return v.Pods[i], nil
	}
	return nil, apierrors.NewNotFound(pods, key.Name)
}

// List implements [client.Reader].
func (r reader) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	switch out := out.(type) {
	case *batchv1.JobList:
		return r.listJobs(ctx, out, o)
	case *corev1.PodList:
		return r.listPods(ctx, out, o)
	}
	others, err := r.otherKinds()
	if err != nil {
		return err
	}
	return others.List(ctx, out, opts...)
}

func (r reader) listJobs(ctx context.Context, out *batchv1.JobList, o *client.ListOptions) error {
	found, version, err := r.allJobs(ctx)
	if err != nil {
		return err
	}
	out.Items, out.ResourceVersion = nil, version
	for _, job := range found {
		match, err := r.matches(r.jobs, o, job)
		if err != nil {
			return err
		}
		if match {
			out.Items = append(out.Items, *job.DeepCopy())
		}
	}
	return nil
}

func (r reader) listPods(ctx context.Context, out *corev1.PodList, o *client.ListOptions) error {
	var found []*corev1.Pod
	if r.cached {
		v, err := r.look(cluster.Pods)
		if err != nil {
			return err
		}
		found, out.ResourceVersion = v.Pods, v.PodsVersion
	} else {
		a, err := r.send(ctx, &cluster.Request{Verb: cluster.List, Namespace: o.Namespace})
		if err != nil {
			return err
		}
		found, out.ResourceVersion = a.Pods, a.Version
	}
	out.Items = nil
	for _, pod := range found {
		match, err := r.matches(r.pods, o, pod)
		if err != nil {
			return err
		}
		if match {
			out.Items = append(out.Items, *pod.DeepCopy())
		}
	}
	return nil
}

// matches applies the options of a list. A cache selects fields by its indexes.
func (r reader) matches(x *indexer, o *client.ListOptions, obj client.Object) (bool, error) {
	if o.Namespace != "" && o.Namespace != obj.GetNamespace() ||
		o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
		return false, nil
	}
	if o.FieldSelector == nil || o.FieldSelector.Empty() {
		return true, nil
	}
	if !r.cached {
		set := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()}
		return o.FieldSelector.Matches(set), nil
	}
	for _, want := range o.FieldSelector.Requirements() {
		index := x.fields[want.Field]
		if index == nil {
			return false, fmt.Errorf("chaos: there is no index of %s: see Env.IndexField", want.Field)
		}
		if !slices.Contains(index(obj), want.Value) {
			return false, nil
		}
	}
	return true, nil
}

// IndexField implements [client.FieldIndexer], for Jobs and pods.
func (e *Env) IndexField(ctx context.Context, of client.Object, field string, extract client.IndexerFunc) error {
	if e.schedule != nil {
		return e.cache.IndexField(ctx, of, field, extract)
	}
	x := e.pods
	if isJob(of) {
		x = e.jobs
	}
	if x.fields == nil {
		x.fields = map[string]client.IndexerFunc{}
	}
	x.fields[field] = extract
	return nil
}

// versioned returns a conflict if the UID or the resource version of a sent object is set
// and differs from the stored one.
func versioned(sent, stored client.Object) error {
	uid, version := sent.GetUID(), sent.GetResourceVersion()
	switch {
	case uid != "" && uid != stored.GetUID():
		return conflict(stored, "the UID is "+strconv.Quote(string(stored.GetUID())))
	case version != "" && version != stored.GetResourceVersion():
		return conflict(stored, "the object has been modified; please apply your changes to the latest "+
			"version and try again")
	}
	return nil
}

func conflict(of client.Object, why string) error {
	resource := pods
	if isJob(of) {
		resource = jobs
	}
	return apierrors.NewConflict(resource, of.GetName(), fmt.Errorf("%s", why))
}
