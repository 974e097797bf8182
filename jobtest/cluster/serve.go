package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Run lets a controller sync once, on what a cache shows. It reports what Sync
// returned, and whether the controller was killed meanwhile.
func (c *Cluster) Run(controller Controller, cache *Cache) Outcome {
	var out Outcome
	view := cache.View()
	saw := newSight(c.Focused(), view)
	client := &Client{View: view, Name: c.Focused()}
	client.Send = func(r *Request) (Answer, error) {
		if out.Killed {
			return Answer{}, ErrKilled
		}
		var f Fault
		if c.Intercept != nil {
			f = c.Intercept(r)
		}
		out.Killed = f.Killed
		if f.Killed && f.Err == nil {
			f.Err = ErrKilled
		}
		if f.Err != nil && !f.Lost {
			return Answer{}, f.Err
		}
		saw.pass(c.Now)
		if saw.syncs = client.Name; r.AboutAll {
			saw.syncs = types.NamespacedName{}
		}
		answer, err := c.serve(r, client.Name, saw)
		if f.Err != nil {
			return Answer{}, f.Err
		}
		return answer, err
	}
	client.Cached = cache.View
	client.Look = func(kind Kind) View {
		if c.Glance != nil && !out.Killed {
			c.Glance()
		}
		saw.look(cache.View(), kind)
		seen := saw.cached
		seen.Now = c.Now
		return seen
	}
	out.After, out.Err = controller.Sync(client)
	if out.After > 0 {
		out.At = c.Now.Add(out.After)
	}
	return out
}

// serve does what an API server does.
func (c *Cluster) serve(r *Request, syncs types.NamespacedName, v *sight) (Answer, error) {
	name := types.NamespacedName{Namespace: cmp.Or(r.Namespace, syncs.Namespace), Name: r.Name}
	switch r.Verb {
	case Get:
		name.Name = cmp.Or(name.Name, syncs.Name)
		v.jobs[name] = named(c.Jobs(), name)
		return Answer{Job: v.jobs[name]}, nil
	case ListJobs:
		jobs := c.Jobs()
		for _, site := range c.sites {
			v.jobs[site.name] = site.job
		}
		return Answer{Jobs: jobs, Version: strconv.Itoa(c.version)}, nil
	case List:
		v.pods, v.hasPods = c.pods.all(), true
		return Answer{Pods: podsIn(v.pods, r.Namespace), Version: strconv.Itoa(c.version)}, nil
	case Status:
		name.Name = cmp.Or(name.Name, syncs.Name)
		return c.serveStatus(r, name, v)
	case Create:
		return c.serveCreate(r, syncs, v)
	}
	old := c.pods.get(c.names[name])
	if old == nil {
		return Answer{}, apierrors.NewNotFound(podResource, r.Name)
	}
	var next *corev1.Pod
	var err error
	switch r.Verb {
	case GetPod:
		return Answer{Pod: old}, nil
	case Patch:
		next, err = patched(old, r)
	case Delete:
		next, err = RequestDeletion(old, r.Options, c.Now)
	default:
		err = apierrors.NewBadRequest(fmt.Sprintf("the verb %q", r.Verb))
	}
	if err != nil {
		return Answer{}, err
	}
	c.putPod(old, next, r, v)
	return Answer{Pod: next}, nil
}

func patched(old *corev1.Pod, r *Request) (*corev1.Pod, error) {
	if r.Edit == nil {
		return PatchPod(old, r.Patch)
	}
	next, err := r.Edit(old)
	if err != nil {
		return nil, err
	}
	if errs := checkMeta(next, old); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, old.Name, errs)
	}
	return unlessGone(next), nil
}

// DefaultGrace is the grace of a deletion that names none, in seconds.
const DefaultGrace = 30

// RequestDeletion deletes a pod as the API server does when it is asked to.
func RequestDeletion(pod *corev1.Pod, o metav1.DeleteOptions, now time.Time) (*corev1.Pod, error) {
	if p := o.Preconditions; p != nil {
		var uid types.UID
		var version string
		if p.UID != nil {
			uid = *p.UID
		}
		if p.ResourceVersion != nil {
			version = *p.ResourceVersion
		}
		if err := preconditions(podResource, pod, uid, version); err != nil {
			return nil, err
		}
	}
	grace := int64(DefaultGrace)
	if o.GracePeriodSeconds != nil {
		grace = *o.GracePeriodSeconds
	}
	return DeletePod(pod, grace, now), nil
}

func (c *Cluster) serveStatus(r *Request, name types.NamespacedName, v *sight) (Answer, error) {
	job := named(c.Jobs(), name)
	if job == nil {
		return Answer{}, apierrors.NewNotFound(jobResource, name.Name)
	}
	next, err := StoreStatus(job, r)
	if apierrors.IsInvalid(err) {
		c.tell(v.step(Step{Request: r, OldJob: job, Job: job, Refused: err}))
	}
	if err != nil {
		return Answer{}, err
	}
	c.putJob(c.siteOf(name), next, r, v)
	return Answer{Job: next}, nil
}

// StoreStatus does to a Job what a request for its status says.
func StoreStatus(job *batchv1.Job, r *Request) (*batchv1.Job, error) {
	if r.Job == nil {
		return PatchStatus(job, r.Patch)
	}
	status, err := arrived(&r.Job.Status)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return updateStatus(job, r.Job.UID, r.Job.ResourceVersion, status)
}

// arrived returns a status as it arrives: its times have lost their fractions.
func arrived(sent *batchv1.JobStatus) (*batchv1.JobStatus, error) {
	data, err := json.Marshal(sent)
	if err != nil {
		return nil, err
	}
	status := new(batchv1.JobStatus)
	return status, json.Unmarshal(data, status)
}

func (c *Cluster) serveCreate(r *Request, syncs types.NamespacedName, v *sight) (Answer, error) {
	if c.Quota > 0 && len(c.pods.place) >= c.Quota {
		return Answer{}, apierrors.NewForbidden(podResource, r.Pod.GenerateName, fmt.Errorf("exceeded quota: pods=%d", c.Quota))
	}
	next, err := c.newPod(r.Pod, cmp.Or(r.Namespace, syncs.Namespace))
	if err != nil {
		return Answer{}, err
	}
	c.putPod(nil, next, r, v)
	return Answer{Pod: next}, nil
}

// newPod returns the next pod, unless there is one of that name.
func (c *Cluster) newPod(sent *corev1.Pod, namespace string) (*corev1.Pod, error) {
	c.made++
	next := NewPod(sent, c.made, stamp(c.Now))
	next.Namespace = cmp.Or(next.Namespace, namespace)
	if c.pods.get(c.names[nameOf(next)]) != nil {
		return nil, apierrors.NewAlreadyExists(podResource, next.Name)
	}
	return next, nil
}

// NewPod returns a pod as it is stored when it is created, the n-th. No pod is
// created as one that is being deleted.
func NewPod(sent *corev1.Pod, n int, now metav1.Time) *corev1.Pod {
	pod := sent.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("pod-%d", n))
	if pod.Name == "" {
		pod.Name = fmt.Sprintf("%s%d", pod.GenerateName, n)
	}
	pod.CreationTimestamp, pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = now, nil, nil
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return pod
}
