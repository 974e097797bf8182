package cluster

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/validation"
	"github.com/jobfate/jobfate/validation/defaulting"
)

// Cluster holds Jobs and pods. Stored objects are immutable: each change stores a new
// version, and holders of the old version keep it.
//
// Most clusters hold one Job. In a cluster with several, [Cluster.Focus] selects the Job
// that methods about one Job act on.
type Cluster struct {
	// Now is the current time. The driver of the cluster sets it.
	Now time.Time
	// Intercept, if set, is called for every request of a controller. It may change the
	// cluster before it returns.
	Intercept func(*Request) Fault
	// BeforeRead, if set, is called before a controller reads one of its caches during a sync.
	// It may change the cluster and update the caches.
	BeforeRead func()
	// Watch, if set, is called after every change.
	Watch func(Step)
	// History is the number of changes that the cluster remembers, for caches that go back
	// in time.
	History int

	slots    []slot
	listed   []*batchv1.Job // the Jobs of the slots
	focus    int            // the slot that methods about one Job act on
	pods     podStore
	names    map[types.NamespacedName]types.UID
	version  int
	podsMade int
	jobsMade int
	caches   []*Cache
	past     []change
}

// Fault is the fault of a request. The zero Fault is none.
type Fault struct {
	// Err is the error that the sender gets instead of the answer.
	Err error
	// Lost says that the request takes effect although the sender gets Err.
	Lost bool
	// Killed says that the sender is killed: after the request if Lost is set, else before.
	Killed bool
}

// Step is a change of the cluster. Either a pod or a Job has changed.
type Step struct {
	Now time.Time
	// Request is the request of the controller, and View the content of its caches at its
	// last reads. Both are nil if no controller made the change.
	Request *Request
	View    *View
	// For is the Job that the controller synced; empty if the request is about all Jobs.
	For types.NamespacedName
	// Lost says that the controller does not get the answer to the request.
	Lost bool
	// Read is View updated with the live reads of the sync; nil if there were none.
	Read *View
	// Earlier yields the views that the controller may have decided on if it read its
	// caches more than once: each read of the Jobs with each read of the pods and with each
	// time. It is nil if there is only one view.
	Earlier iter.Seq[View]
	// Job is the Job after the change, OldJob before. If a pod changed, both are the Job in
	// focus.
	Job, OldJob *batchv1.Job
	// Jobs lists all Jobs after the change.
	Jobs []*batchv1.Job
	// Pod is the pod after the change, OldPod before. Both are nil if a Job changed.
	Pod, OldPod *corev1.Pod
	// Pods lists all pods after the change.
	Pods func() []*corev1.Pod
	// Refused is set if nothing changed because the request was invalid.
	Refused error
}

// change is an entry of the history: a change of a pod or, without a UID, of the Job of a
// slot.
type change struct {
	version int
	slot    int
	uid     types.UID
	pod     *corev1.Pod
	job     *batchv1.Job
}

// New returns a cluster with a Job, which it stores as the API server does, with defaults
// and a generated selector. It fails if the Job is invalid.
func New(job *batchv1.Job, now time.Time) (*Cluster, error) {
	c := &Cluster{Now: now, names: map[types.NamespacedName]types.UID{}}
	return c, c.CreateJob(job)
}

// CreateJob creates a Job. It fails if the Job is invalid or if its name is in use.
func (c *Cluster) CreateJob(job *batchv1.Job) error {
	job = job.DeepCopy()
	if job.Name == "" {
		job.Name = "job"
	}
	if job.Namespace == "" {
		job.Namespace = metav1.NamespaceDefault
	}
	at := c.slotOf(nameOf(job))
	if at >= 0 && c.slots[at].job != nil {
		return fmt.Errorf("there is a Job %s already", job.Name)
	}
	c.jobsMade++
	job.UID, job.ResourceVersion = types.UID(fmt.Sprintf("%s%d", jobUID, c.jobsMade)), ""
	job.CreationTimestamp, job.DeletionTimestamp = stamp(c.Now), nil
	job = defaulting.Prepared(job)
	if errs := validation.Create(job); len(errs) > 0 {
		return errs.ToAggregate()
	}
	if at < 0 {
		at = len(c.slots)
		c.slots = append(c.slots, slot{name: nameOf(job)})
	}
	c.putJob(at, job, nil, nil)
	return nil
}

// jobUID is the prefix of the UIDs of Jobs.
const jobUID = "job-"

// Pods returns the stored pods in the order of their creation.
func (c *Cluster) Pods() []*corev1.Pod { return c.pods.all() }

// Pod returns the stored pod with this UID; nil if there is none.
func (c *Cluster) Pod(uid types.UID) *corev1.Pod { return c.pods.get(uid) }

// Version counts the changes so far.
func (c *Cluster) Version() int { return c.version }

// putJob stores the next version of the Job of a slot; nil removes it. The caller must not
// keep next.
func (c *Cluster) putJob(at int, next *batchv1.Job, r *Request, v *syncReads) {
	old := c.slots[at].job
	c.version++
	if next != nil {
		next.ResourceVersion = strconv.Itoa(c.version)
	}
	c.slots[at].job = next
	c.listed = c.listJobs()
	e := change{version: c.version, slot: at, job: next}
	c.remember(e)
	for _, cache := range c.caches {
		cache.lateJob(e)
	}
	c.notify(v.step(Step{Request: r, OldJob: old, Job: next}))
}

// putPod stores the next version of a pod; nil removes it.
func (c *Cluster) putPod(old, next *corev1.Pod, r *Request, v *syncReads) {
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
	c.notify(v.step(Step{Request: r, OldJob: c.Job(), Job: c.Job(), Pod: next, OldPod: old}))
}

func (c *Cluster) notify(s Step) {
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

// Event is an action of a controller process or another client, for observers that follow a cluster step by step.
type Event struct {
	Kind EventKind
	// Leader is the process, from 1; 0 for other clients.
	Leader int
	// View is what the caches show when a sync begins. Behind says that its Job is older than one
	// that the process has read or stored.
	View   *View
	Behind bool
	// Request is the request of a Sent, and Answered says that its answer, which is Err or the
	// object, reached the process.
	Request  *Request
	Answered bool
	Err      error
	// Invalid says why the API server refused a status.
	Invalid error
	// OldJob and OldPods are stored before the event. Job is stored after it; Pod is the pod that
	// it has changed, and OldPod the same before. They are nil if they do not exist.
	OldJob, Job *batchv1.Job
	OldPod, Pod *corev1.Pod
	OldPods     []*corev1.Pod
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Started EventKind = iota // a process has started
	Began                    // a sync begins
	Sent                     // a request was served, refused, or lost
	Ended                    // a sync ends
	Stopped                  // a process has stopped
	Changed                  // another client has changed a Job or a pod
)

// Clone returns an independent cluster in the same state. It has no caches, and Intercept,
// BeforeRead and Watch are not set. The two share the objects, which are immutable.
func (c *Cluster) Clone() *Cluster {
	next := *c
	next.Intercept, next.BeforeRead, next.Watch, next.caches = nil, nil, nil, nil
	next.slots, next.pods, next.names, next.past = slices.Clone(c.slots), c.pods.clone(), maps.Clone(c.names),
		slices.Clone(c.past)
	return &next
}

// Clone returns a cache with the same content for a clone of its cluster.
func (s *Cache) Clone(of *Cluster) *Cache {
	next := *s
	next.c, next.pods = of, s.pods.clone()
	next.jobs = slices.Clone(s.jobs)
	for at, slot := range s.jobs {
		next.jobs[at].lagging = slices.Clone(slot.lagging)
	}
	next.lagging, next.laggingAt = slices.Clone(s.lagging), slices.Clone(s.laggingAt)
	of.caches = append(of.caches, &next)
	return &next
}
