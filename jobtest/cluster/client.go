package cluster

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Controller is the code under test.
type Controller interface {
	// Sync reconciles the Job once. It reads and writes only through the client. It returns
	// the delay after which to requeue the Job; zero means only after a change. An error
	// requeues the Job soon. The objects that the client returns are shared and must not be
	// changed.
	//
	// After the controller is killed, every request fails with ErrKilled, and the
	// controller is not used again once Sync has returned.
	Sync(*Client) (time.Duration, error)
}

// ErrKilled is the error of every request after the controller was killed.
var ErrKilled = errors.New("the controller has been killed")

// ErrNoAnswer is the error for a request whose answer never arrives. ErrGivenUp makes the
// controller abandon its sync, without a restart.
var (
	ErrNoAnswer = errors.New("no answer")
	ErrGivenUp  = errors.New("the sync was abandoned")
)

// View is the content of a controller's caches at one time.
type View struct {
	Now time.Time
	// Job is the Job of the sync, which is in focus; nil if the cache has none.
	Job *batchv1.Job
	// Jobs lists all Jobs.
	Jobs []*batchv1.Job
	// Pods lists all pods, of any owner.
	Pods []*corev1.Pod
	// The cache of Jobs is complete up to the resource version JobsVersion, the cache of
	// pods up to PodsVersion.
	JobsVersion, PodsVersion string
	// Barrier is the version of the consistent read of pods that the process made when it
	// acquired its lease.
	Barrier string
}

// Client is a controller's access to the cluster.
type Client struct {
	// View is the content of the caches when the sync began.
	View
	// Name is the name of the Job to sync.
	Name types.NamespacedName
	// Send sends a request.
	Send func(*Request) (Answer, error)
	// Reread reads a cache again, which may have changed since the sync began. The referee
	// then judges the controller by its last read.
	Reread func(Kind) View
	// Cached returns the current content of the caches without recording a read. It is for the
	// event handlers of a controller and for state that it keeps next to its caches.
	Cached func() View
}

// Kind names one of the caches of a controller.
type Kind uint8

// The caches.
const (
	Jobs Kind = iota
	Pods
)

// Verb is the verb of a request.
type Verb string

// The verbs. Get, ListJobs, List and GetPod read live, not from the caches. Get reads a
// Job, ListJobs all Jobs, and GetPod a pod. List reads the pods of a namespace, or all pods
// if there is no namespace.
const (
	Create   Verb = "create"
	Delete   Verb = "delete"
	Patch    Verb = "patch"
	Status   Verb = "status"
	Get      Verb = "get"
	ListJobs Verb = "list jobs"
	List     Verb = "list"
	GetPod   Verb = "get pod"
)

// Request is a request to the API server.
type Request struct {
	Verb Verb
	// Namespace and Name are those of the object. They default to those of the Job of the
	// sync.
	Namespace, Name string
	// UID is the UID that the controller knows for the pod to patch or delete. The server
	// ignores it and uses Patch and Options; the referee needs it.
	UID types.UID
	// Pod is the pod to create.
	Pod *corev1.Pod
	// Patch is a strategic merge patch of a pod, or a JSON merge patch of the status of a
	// Job.
	Patch []byte
	// Options holds the options of a deletion.
	Options metav1.DeleteOptions
	// Job, if set, has the status to store. The request then replaces the status instead of
	// patching it.
	Job *batchv1.Job
	// AboutAll says that the request is not limited to the Job of the sync. Without it, the
	// referee reports a write to another Job or its pods.
	AboutAll bool
	// Edit, if set, computes the next version of the pod from the stored one. It must not
	// change its argument. The cluster then does not apply Patch, which can be a patch of
	// another type and is kept for observers.
	Edit func(*corev1.Pod) (*corev1.Pod, error)
}

// Writes reports whether the request is a write.
func (r *Request) Writes() bool {
	return r.Verb != Get && r.Verb != ListJobs && r.Verb != List && r.Verb != GetPod
}

// Answer is the answer of the API server to a request. Its object is the stored one; nil if
// it is gone.
type Answer struct {
	// Pod is set if a pod was read, created, patched or deleted; Job if a Job was read or
	// its status stored.
	Pod *corev1.Pod
	Job *batchv1.Job
	// Jobs is the answer to ListJobs, Pods the answer to List, and Version the resource
	// version of that list.
	Jobs    []*batchv1.Job
	Pods    []*corev1.Pod
	Version string
}

// GetJob reads the Job live. It returns nil if there is none.
func (c *Client) GetJob() (*batchv1.Job, error) {
	a, err := c.Send(&Request{Verb: Get})
	return a.Job, err
}

// CreatePod creates a pod and returns it with its name and UID.
func (c *Client) CreatePod(pod *corev1.Pod) (*corev1.Pod, error) {
	a, err := c.Send(&Request{Verb: Create, Pod: pod})
	return a.Pod, err
}

// DeletePod deletes a pod.
func (c *Client) DeletePod(pod *corev1.Pod, options metav1.DeleteOptions) error {
	_, err := c.Send(&Request{Verb: Delete, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Options: options})
	return err
}

// PatchPod sends a strategic merge patch of a pod's metadata.
func (c *Client) PatchPod(pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	a, err := c.Send(&Request{Verb: Patch, Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Patch: patch})
	return a.Pod, err
}

// PatchStatus sends a JSON merge patch of the Job's status.
func (c *Client) PatchStatus(patch []byte) (*batchv1.Job, error) {
	a, err := c.Send(&Request{Verb: Status, Patch: patch})
	return a.Job, err
}

// UpdateStatus replaces the status of a Job. The resource version must match the stored
// one.
func (c *Client) UpdateStatus(job *batchv1.Job) (*batchv1.Job, error) {
	a, err := c.Send(&Request{Verb: Status, Namespace: job.Namespace, Name: job.Name, Job: job})
	return a.Job, err
}
