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

// exchange is a request and its answer.
type exchange struct {
	Request
	at       int       // the position in the list of deletions or creations
	strips   bool      // the patch removes the finalizer
	seen     string    // the version of the pod when the request was made
	job      types.UID // the UID of the Job when the request was made
	lost     bool      // the request counts as lost
	answered bool
	object   runtime.Object
	err      error
}

// fate says whether a request was carried out.
type fate uint8

const (
	done    fate = iota // carried out
	missing             // the object does not exist
	refused             // not carried out
	unknown             // may have been carried out
)

// fateOf returns what the error of a client says about its request. Only a client error of
// the API server means that the request was refused. After a server error, a timeout or a
// broken connection, the request may have been carried out.
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

// retryAfter returns how long the API server asks to wait before the next request.
func retryAfter(err error) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second
	}
	return 0
}

// namespaceTerminating reports whether a creation was refused because its namespace is
// being deleted. All later creations will be refused too, and that is no error.
func namespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// fate returns the fate of the request.
func (x *exchange) fate() fate {
	if !x.answered {
		return unknown
	}
	return fateOf(x.err)
}

// failure returns the error of a request that was not carried out.
func (x *exchange) failure() error {
	if !x.answered {
		return ErrNoAnswer
	}
	return x.err
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

// jobObject returns the Job in the answer; nil if there is none.
func (x *exchange) jobObject() *batchv1.Job {
	if job, ok := x.object.(*batchv1.Job); ok && x.meta() != nil {
		return job
	}
	return nil
}
