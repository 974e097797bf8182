package machine

import (
	"errors"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNoAnswer is the error of a request that was never answered.
var ErrNoAnswer = errors.New("the request was not answered")

// exchange is a request and what became of it.
type exchange struct {
	Request
	at       int       // of a deletion or creation: which
	strips   bool      // it removes a finalizer
	seen     string    // the version of the pod that it is about
	job      types.UID // the UID of the Job that it was sent for
	lost     bool      // it was taken for lost
	answered bool
	object   runtime.Object
	err      error
}

// fate is what an answer says of a request.
type fate uint8

const (
	done    fate = iota // it was carried out
	missing             // there is no such object
	refused             // it was not carried out
	unknown             // it may have been carried out
)

// fateOf reads an error of a client. Only the API server can say that it refused a
// request. Of an internal error, a timeout or a broken connection nothing follows.
func fateOf(err error) fate {
	if err == nil {
		return done
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
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

// retryAfter is how long the API server asks to wait before the next request.
func retryAfter(err error) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second
	}
	return 0
}

// namespaceEnds reports whether a creation was refused because its namespace is being
// deleted: then all others will be, and there is nothing to tell anyone.
func namespaceEnds(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// fate is what became of the request.
func (x *exchange) fate() fate {
	if !x.answered {
		return unknown
	}
	return fateOf(x.err)
}

// failure is the error of a request that was not carried out.
func (x *exchange) failure() error {
	if !x.answered {
		return ErrNoAnswer
	}
	return x.err
}

// meta returns the metadata of the object in the answer; nil without one. Clients
// return typed nils.
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

// jobObject returns the Job in the answer; nil without one.
func (x *exchange) jobObject() *batchv1.Job {
	if job, ok := x.object.(*batchv1.Job); ok && x.meta() != nil {
		return job
	}
	return nil
}
