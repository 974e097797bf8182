package machine

import (
	"errors"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is the kind of a request.
type Verb uint8

// The verbs. Reads must be live, never from a cache.
const (
	GetJob Verb = iota + 1
	ListPods
	GetPod
	CreatePod
	PatchPod
	DeletePod
	PatchStatus
)

var verbNames = [...]string{"", "get the Job", "list the pods", "get pod", "create pod", "patch pod",
	"delete pod", "patch the status"}

// String names the verb.
func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return fmt.Sprintf("Verb(%d)", uint8(v))
}

// Request is a request to the API server, with everything that the call needs.
type Request struct {
	// ID is unique among the requests of a Machine.
	ID        uint64
	Verb      Verb
	Namespace string
	// Name is the name of the Job or the pod; empty for ListPods and CreatePod.
	Name string
	// UID is the UID of the Job or the pod; empty if it is not known.
	UID types.UID
	// Pod is the pod to create. The caller may change it.
	Pod *corev1.Pod
	// Patch is a strategic merge patch of a pod, or a JSON merge patch of the status
	// of a Job.
	Patch []byte
	// Options are the options of DeletePod.
	Options metav1.DeleteOptions
	// ResourceVersion is the version that the object with the status must have when
	// PatchStatus stores the status. The Patch names it too.
	ResourceVersion string
	// Status is the whole new status, for a caller that stores it elsewhere than in
	// the Job.
	Status *batchv1.JobStatus
}

// ErrNoAnswer is the error of a request that was never answered.
var ErrNoAnswer = errors.New("the request was not answered")

// exchange is a request and its answer.
type exchange struct {
	Request
	adopts bool      // the patch adopts the pod; every other one removes the finalizer
	seen   string    // the version of the pod when the request was made
	sender types.UID // the UID of the Job when the request was made
	object runtime.Object
	err    error // ErrNoAnswer until it is answered
}

// about returns a request about a pod.
func about(pod *corev1.Pod, verb Verb) *exchange {
	return &exchange{seen: pod.ResourceVersion, Request: Request{Verb: verb, Name: pod.Name, UID: pod.UID}}
}

// patches returns patches of pods.
func patches(pods []*corev1.Pod, patch func(*corev1.Pod) []byte) (batch []*exchange) {
	for _, pod := range pods {
		x := about(pod, PatchPod)
		x.Patch = patch(pod)
		batch = append(batch, x)
	}
	return batch
}

// readOf returns the request to read a Job.
func readOf(name string, uid types.UID) []*exchange {
	return []*exchange{{Request: Request{Verb: GetJob, Name: name, UID: uid}}}
}

func (x *exchange) answered() bool { return !errors.Is(x.err, ErrNoAnswer) }

// fate says whether a request was carried out.
type fate uint8

const (
	done    fate = iota // carried out
	missing             // the object does not exist
	refused             // not carried out
	unknown             // may have been carried out
)

// fate returns what the error of the client says about the request. Only a client error of
// the API server means that the request was refused. After a server error, a timeout or a
// broken connection, the request may have been carried out.
func (x *exchange) fate() fate {
	if x.err == nil {
		return done
	}
	var status apierrors.APIStatus
	if !errors.As(x.err, &status) {
		return unknown
	}
	const notFound, requestTimeout, serverErrors = 404, 408, 500
	switch code := status.Status().Code; {
	case code == notFound:
		return missing
	case code >= 400 && code < serverErrors && code != requestTimeout:
		return refused
	}
	return unknown
}

// failure returns the error of a request that was not carried out; nil if it was, and if
// its object does not exist.
func (x *exchange) failure(doing string) error {
	if f := x.fate(); f == done || f == missing {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, x.err)
}

// meta returns the metadata of the object in the answer; nil if there is none. Clients may
// return a typed nil.
func (x *exchange) meta() metav1.Object {
	if x.object == nil || reflect.ValueOf(x.object).IsNil() {
		return nil
	}
	object, err := meta.Accessor(x.object)
	if err != nil || object.GetUID() == "" {
		return nil
	}
	return object
}

// job returns the Job in the answer to its reading; nil if there is none.
func (x *exchange) job() (*batchv1.Job, error) {
	if err := x.failure("reading the Job"); err != nil {
		return nil, err
	}
	if job, ok := x.object.(*batchv1.Job); ok && x.meta() != nil {
		return job, nil
	}
	return nil, nil
}
