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
	// Sync looks at the Job once and writes what is due, through the client and
	// in no other way. It returns when it wants to look again; zero is only when
	// something changes. An error makes it look again soon. What the client
	// returns is shared and must not be changed.
	//
	// Once it is killed, every request fails with ErrKilled, and after Sync has
	// returned the controller is never used again.
	Sync(*Client) (time.Duration, error)
}

// ErrKilled is the error of every request after the controller was killed.
var ErrKilled = errors.New("the controller has been killed")

// ErrNoAnswer is what a controller gets for a request whose answer never comes, and
// ErrGivenUp for one at which it gives its sync up, but goes on living.
var (
	ErrNoAnswer = errors.New("no answer came")
	ErrGivenUp  = errors.New("the sync was given up")
)

// View is the content of a controller's caches.
type View struct {
	Now time.Time
	// Job is the Job that the sync is for, the one in focus; nil when the cache shows none.
	Job *batchv1.Job
	// Jobs are all Jobs.
	Jobs []*batchv1.Job
	// Pods are all pods, whoever owns them.
	Pods []*corev1.Pod
	// JobsVersion and PodsVersion are the resource versions up to which the caches of
	// Jobs and pods are complete.
	JobsVersion, PodsVersion string
	// Barrier is the version of a consistent read of pods when the process got its
	// lease.
	Barrier string
}

// Client is a controller's access to the cluster.
type Client struct {
	// View is what the caches showed when the sync began.
	View
	// Name is the name of the Job that the sync is for.
	Name types.NamespacedName
	// Send sends a request.
	Send func(*Request) (Answer, error)
	// Look reads a cache again, which may have moved since the sync began. The controller
	// is then judged by what it read last.
	Look func(Kind) View
	// Cached returns what the caches hold now: for the event handlers of a controller, and
	// for what it keeps beside its caches. It counts as no read.
	Cached func() View
}

// Kind names one of the caches of a controller.
type Kind uint8

// The caches.
const (
	Jobs Kind = iota
	Pods
)

// Verb says what a request asks for.
type Verb string

// The verbs. Get reads a Job, ListJobs all Jobs, List the pods of a namespace or, without one,
// all, and GetPod one of them, live, past the caches.
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
	// Namespace and Name are those of the object. By default they are those of the Job that
	// the sync is for.
	Namespace, Name string
	// UID is that of the pod that is patched or deleted, as the controller knows it. The
	// server ignores it and uses what Patch and Options say; the referee needs it.
	UID types.UID
	// Pod is the pod to create.
	Pod *corev1.Pod
	// Patch is a strategic merge patch of a pod or a JSON merge patch of the
	// status of a Job.
	Patch []byte
	// Options are those of a deletion.
	Options metav1.DeleteOptions
	// Job is set to replace the status of a Job instead of patching it.
	Job *batchv1.Job
	// AboutAll says that the request is not about the Job that the sync is for. Otherwise a
	// write to another Job or its pods is a mistake, to the referee.
	AboutAll bool
	// Edit, if it is set, makes the next version of the pod from the stored one. Patch is
	// then for those who watch: a request as a client sent it, which is no strategic merge
	// patch. It must not change the pod that it is given.
	Edit func(*corev1.Pod) (*corev1.Pod, error)
}

// Answer is the object as the API server has stored it; nil once it is gone.
type Answer struct {
	// Pod is set when a pod was read, created, patched or deleted, Job when the Job was
	// read or its status stored.
	Pod *corev1.Pod
	Job *batchv1.Job
	// Jobs is the answer to ListJobs, Pods that to List, and Version the version of either.
	Jobs    []*batchv1.Job
	Pods    []*corev1.Pod
	Version string
}

// GetJob reads the Job live. The Job is nil when there is none.
func (c *Client) GetJob() (*batchv1.Job, error) {
	a, err := c.Send(&Request{Verb: Get})
	return a.Job, err
}

// ListPods reads all pods live, and returns the version of the list.
func (c *Client) ListPods() ([]*corev1.Pod, string, error) {
	a, err := c.Send(&Request{Verb: List})
	return a.Pods, a.Version, err
}

// CreatePod creates a pod and returns it with its name and UID.
func (c *Client) CreatePod(pod *corev1.Pod) (*corev1.Pod, error) {
	a, err := c.Send(&Request{Verb: Create, Pod: pod})
	return a.Pod, err
}

// DeletePod asks for the deletion of a pod.
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

// UpdateStatus replaces the status of a Job; its resource version must be the one that is
// stored.
func (c *Client) UpdateStatus(job *batchv1.Job) (*batchv1.Job, error) {
	a, err := c.Send(&Request{Verb: Status, Namespace: job.Namespace, Name: job.Name, Job: job})
	return a.Job, err
}
