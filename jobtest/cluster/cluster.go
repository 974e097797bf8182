package cluster

import (
	"fmt"
	"iter"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/validation"
)

// Cluster holds Jobs and pods. Objects in it never change: each change stores a new
// version, and holders of the old version keep it.
//
// Most clusters hold one Job. In a cluster with several, [Cluster.Focus] says which Job the
// methods about one Job mean.
type Cluster struct {
	// Now is the current time. The driver of the cluster sets it.
	Now time.Time
	// Intercept is asked about every request of a controller, if it is set. It may
	// change the cluster before it answers.
	Intercept func(*Request) Fault
	// Glance is called before a controller reads one of its caches during a sync, if it is
	// set. It may change the cluster and move the caches.
	Glance func()
	// Watch is told of every change, if it is set.
	Watch func(Step)
	// History is the number of changes that are remembered, for caches that go
	// back in time.
	History int
	// Quota is how many pods there may be at a time; zero is no limit.
	Quota int

	sites   []site
	focus   int // the site that methods about one Job mean
	pods    shelf
	names   map[types.NamespacedName]types.UID
	version int
	made    int // pods
	jobs    int // Jobs
	caches  []*Cache
	past    []change
}

// Fault is what happens to a request. The zero Fault is none.
type Fault struct {
	// Err is what the sender gets instead of the answer.
	Err error
	// Lost says that the request has its effect all the same.
	Lost bool
	// Killed says that the sender dies: with Lost after the request, else before.
	Killed bool
}

// Step is a change of the cluster. Either a pod or a Job has changed.
type Step struct {
	Now time.Time
	// Request is what the controller asked for, and View what it saw when it
	// began; nil when the change was not made by a controller.
	Request *Request
	View    *View
	// For is the Job that the controller synced, if it said so.
	For types.NamespacedName
	// Read is View with what the controller has read live since; nil if that is nothing.
	Read *View
	// Earlier is what it may have decided on, if it has read its caches more than once: each
	// read of the Jobs with each read of the pods and with each time. It is nil if there is
	// only one.
	Earlier iter.Seq[View]
	// Job is the Job after the change, OldJob before. If a pod has changed, both are the
	// Job in focus.
	Job, OldJob *batchv1.Job
	// Jobs are all Jobs after the change.
	Jobs []*batchv1.Job
	// Pod is the pod after the change, OldPod before; both nil when the Job has
	// changed.
	Pod, OldPod *corev1.Pod
	// Pods are all pods after the change.
	Pods func() []*corev1.Pod
	// Refused is set when nothing has changed because what the controller asked
	// for is not valid.
	Refused error
}

// change is a change as the past remembers it: of the Job of a site if there is no UID.
type change struct {
	version int
	site    int
	uid     types.UID
	pod     *corev1.Pod
	job     *batchv1.Job
}

// New starts a cluster with a Job, which it stores as the API server does, with
// defaults and a generated selector. It fails when the Job is not valid.
func New(job *batchv1.Job, now time.Time) (*Cluster, error) {
	c := &Cluster{Now: now, names: map[types.NamespacedName]types.UID{}}
	return c, c.CreateJob(job)
}

// CreateJob creates a Job. It fails if the Job is not valid, and while there is a Job of
// the same name.
func (c *Cluster) CreateJob(job *batchv1.Job) error {
	job = job.DeepCopy()
	if job.Name == "" {
		job.Name = "job"
	}
	if job.Namespace == "" {
		job.Namespace = metav1.NamespaceDefault
	}
	at := c.siteOf(nameOf(job))
	if at >= 0 && c.sites[at].job != nil {
		return fmt.Errorf("there is a Job %s already", job.Name)
	}
	c.jobs++
	job.UID, job.ResourceVersion = types.UID(fmt.Sprintf("%s%d", jobUID, c.jobs)), ""
	job.CreationTimestamp, job.DeletionTimestamp = stamp(c.Now), nil
	job = validation.PrepareCreate(job)
	if errs := validation.Create(job); len(errs) > 0 {
		return errs.ToAggregate()
	}
	if at < 0 {
		at = len(c.sites)
		c.sites = append(c.sites, site{name: nameOf(job)})
	}
	c.putJob(at, job, nil, nil)
	return nil
}

// jobUID is what the UIDs of Jobs begin with.
const jobUID = "job-"

// Pods returns the pods as they are stored, in the order of their creation.
func (c *Cluster) Pods() []*corev1.Pod { return c.pods.all() }

// Pod returns a pod as it is stored; nil when there is none.
func (c *Cluster) Pod(uid types.UID) *corev1.Pod { return c.pods.get(uid) }

// Version counts the changes so far.
func (c *Cluster) Version() int { return c.version }

// putJob stores the next version of the Job of a site; nil removes it. The caller must not
// keep next.
func (c *Cluster) putJob(at int, next *batchv1.Job, r *Request, v *sight) {
	old := c.sites[at].job
	c.version++
	if next != nil {
		next.ResourceVersion = strconv.Itoa(c.version)
	}
	c.sites[at].job = next
	c.remember(change{version: c.version, site: at, job: next})
	for _, cache := range c.caches {
		cache.lateJob(at, next, c.version)
	}
	c.tell(v.step(Step{Request: r, OldJob: old, Job: next}))
}

// putPod stores the next version of a pod; nil removes it.
func (c *Cluster) putPod(old, next *corev1.Pod, r *Request, v *sight) {
	if old == next {
		return
	}
	c.version++
	uid := types.UID("")
	if next != nil {
		next.ResourceVersion = strconv.Itoa(c.version)
		uid = next.UID
		c.names[nameOf(next)] = uid
		c.pods.put(next)
	} else {
		uid = old.UID
		if c.names[nameOf(old)] == uid {
			delete(c.names, nameOf(old))
		}
		c.pods.drop(uid)
	}
	c.remember(change{version: c.version, uid: uid, pod: next})
	for _, cache := range c.caches {
		cache.latePod(uid, c.version)
	}
	c.tell(v.step(Step{Request: r, OldJob: c.Job(), Job: c.Job(), Pod: next, OldPod: old}))
}

func (c *Cluster) tell(s Step) {
	if c.Watch == nil {
		return
	}
	s.Now, s.Jobs, s.Pods = c.Now, c.Jobs(), c.Pods
	c.Watch(s)
}

func (c *Cluster) remember(e change) {
	if c.History == 0 {
		return
	}
	c.past = append(c.past, e)
	if len(c.past) > 2*c.History {
		c.past = append([]change(nil), c.past[len(c.past)-c.History:]...)
	}
}
