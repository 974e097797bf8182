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

	"github.com/jobfate/jobfate/internal/memory"
)

// errNoAnswer is the error of a request that was never answered.
var errNoAnswer = errors.New("the request was not answered")

// exchange is a request and its answer.
type exchange struct {
	Request
	adopts bool   // the patch adopts the pod; every other one removes the finalizer
	forEnd bool   // the pod is deleted because the Job ends
	seen   string // the version of the pod when the request was made
	named  string // the name of the pod to create; empty if the API server generates it
	object runtime.Object
	err    error // errNoAnswer until it is answered
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

func (x *exchange) answered() bool { return !errors.Is(x.err, errNoAnswer) }

// effect says whether a request was carried out.
type effect uint8

const (
	done    effect = iota // carried out
	missing               // the object does not exist
	refused               // not carried out
	unknown               // may have been carried out
)

// effect returns what the error of the client says about the request. Only a client error of
// the API server means that the request was refused. After a server error, a timeout or a
// broken connection, the request may have been carried out.
func (x *exchange) effect() effect {
	if x.err == nil {
		return done
	}
	var status apierrors.APIStatus
	if !errors.As(x.err, &status) {
		return unknown
	}
	const notFound, requestTimeout, serverErrors = 404, 408, 500
	code := status.Status().Code
	switch {
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
	if f := x.effect(); f == done || f == missing {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, x.err)
}

// meta returns the metadata of the object in the answer; nil if there is none. Clients may
// return a typed nil.
func (x *exchange) meta() metav1.Object {
	if x.object == nil || isNil(x.object) {
		return nil
	}
	object, err := meta.Accessor(x.object)
	if err != nil || object.GetUID() == "" {
		return nil
	}
	return object
}

// isNil reports whether an interface holds a nil pointer.
func isNil(v any) bool {
	p := reflect.ValueOf(v)
	return p.Kind() == reflect.Pointer && p.IsNil()
}

// job returns the Job in the answer to a GetJob; nil if there is none. An object of another type, such
// as one without its spec, does not say that the Job is gone.
func (x *exchange) job() (*batchv1.Job, error) {
	if err := x.failure("reading the Job"); err != nil {
		return nil, err
	}
	if x.err != nil || x.object == nil || isNil(x.object) {
		return nil, nil
	}
	if job, ok := x.object.(*batchv1.Job); ok && job.UID != "" {
		return job, nil
	}
	return nil, fmt.Errorf("reading the Job: the answer is a %T, want a *v1.Job with a UID", x.object)
}

// take remembers the answers to a batch, and which of its requests have an unknown result.
func (s *sync) take(batch []*exchange) {
	for _, x := range batch {
		if x.effect() == unknown {
			s.lose(x)
		} else {
			s.absorb(x)
		}
	}
}

// lose remembers a request whose result is unknown. Patches and deletions of pods need no memory:
// they can be sent again.
func (s *sync) lose(x *exchange) {
	switch x.Verb {
	case CreatePod:
		s.Lose(x.named)
	case PatchStatus:
		s.Sure, s.ReadFirst = false, true
	}
}

// absorb remembers the write that an answer shows.
func (s *sync) absorb(x *exchange) {
	object, effect := x.meta(), x.effect()
	switch {
	case s.Job == "" || effect == unknown: // orphans have no Job
	case x.Verb == DeletePod && effect != refused:
		s.Delete(x.UID, memory.Deleted{Version: x.seen, ForEnd: x.forEnd})
	case effect != done:
	case x.Verb == PatchPod && !x.adopts:
		s.Strip(x.UID, x.seen, object)
	case object == nil:
	case x.Verb == CreatePod:
		s.Create(object, s.view.Now)
	case x.Verb == PatchPod: // an older view shows the pod without its owner
		s.PodsFloor = memory.Newest(s.PodsFloor, object.GetResourceVersion())
	case x.Verb == PatchStatus:
		s.Sure, s.Known = false, memory.Newest(s.Known, object.GetResourceVersion())
	}
}
