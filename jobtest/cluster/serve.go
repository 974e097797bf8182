package cluster

import (
	"cmp"
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

// Run runs one sync of a controller on the content of a cache. It returns the result of
// Sync, and whether the controller was killed.
func (c *Cluster) Run(controller Controller, cache *Cache) Outcome {
	var out Outcome
	view := cache.View()
	saw := newSyncReads(c.Focused(), view)
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
		saw.readClock(c.Now)
		saw.lost = f.Err != nil
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
	client.Reread = func(kind Kind) View {
		if c.BeforeRead != nil && !out.Killed {
			c.BeforeRead()
		}
		saw.readCache(cache.View(), kind)
		seen := *saw.cached
		seen.Now = c.Now
		return seen
	}
	out.After, out.Err = controller.Sync(client)
	if out.After > 0 {
		out.At = c.Now.Add(out.After)
	}
	return out
}

// serve handles a request as the API server does.
func (c *Cluster) serve(r *Request, syncs types.NamespacedName, v *syncReads) (Answer, error) {
	name := types.NamespacedName{Namespace: cmp.Or(r.Namespace, syncs.Namespace), Name: r.Name}
	switch r.Verb {
	case Get:
		name.Name = cmp.Or(name.Name, syncs.Name)
		v.jobs[name] = jobNamed(c.Jobs(), name)
		return Answer{Job: v.jobs[name]}, nil
	case ListJobs:
		jobs := c.Jobs()
		for _, slot := range c.slots {
			v.jobs[slot.name] = slot.job
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
		next, err = patchPod(old, r)
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

func patchPod(old *corev1.Pod, r *Request) (*corev1.Pod, error) {
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
	return nilIfGone(next), nil
}

// DefaultGrace is the default grace period of a deletion, in seconds.
const DefaultGrace = 30

// RequestDeletion deletes a pod as the API server does. It checks the preconditions and
// returns the next version of the pod.
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

func (c *Cluster) serveStatus(r *Request, name types.NamespacedName, v *syncReads) (Answer, error) {
	job := jobNamed(c.Jobs(), name)
	if job == nil {
		return Answer{}, apierrors.NewNotFound(jobResource, name.Name)
	}
	next, err := StoreStatus(job, r)
	if apierrors.IsInvalid(err) {
		c.notify(v.step(Step{Request: r, OldJob: job, Job: job, Refused: err}))
	}
	if err != nil {
		return Answer{}, err
	}
	c.putJob(c.slotOf(name), next, r, v)
	return Answer{Job: next}, nil
}

// StoreStatus applies a request to the status subresource of a Job, and returns the next
// version of the Job.
func StoreStatus(job *batchv1.Job, r *Request) (*batchv1.Job, error) {
	if r.Job == nil {
		return PatchStatus(job, r.Patch)
	}
	status := new(batchv1.JobStatus)
	if err := recode(&r.Job.Status, status); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return updateStatus(job, r.Job.UID, r.Job.ResourceVersion, status)
}

func (c *Cluster) serveCreate(r *Request, syncs types.NamespacedName, v *syncReads) (Answer, error) {
	next, err := c.newPod(r.Pod, cmp.Or(r.Namespace, syncs.Namespace))
	if err != nil {
		return Answer{}, err
	}
	c.putPod(nil, next, r, v)
	return Answer{Pod: next}, nil
}

// newPod returns a new pod. It fails if the name is in use.
func (c *Cluster) newPod(sent *corev1.Pod, namespace string) (*corev1.Pod, error) {
	c.podsMade++
	next := NewPod(sent, c.podsMade, stamp(c.Now))
	next.Namespace = cmp.Or(next.Namespace, namespace)
	if c.pods.get(c.names[nameOf(next)]) != nil {
		return nil, apierrors.NewAlreadyExists(podResource, next.Name)
	}
	return next, nil
}

// NewPod returns the n-th pod as the API server stores it at its creation. A new pod has no
// deletion timestamp, even if the request sets one.
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
