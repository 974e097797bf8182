package chaos

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/cluster"
)

// fault is a possible fault of a request.
type fault struct {
	name   string
	weight int
	on     func(*cluster.Request) bool // nil: any
	fault  func(*cluster.Request) cluster.Fault
}

var (
	podResource = schema.GroupResource{Resource: "pods"}
	podKind     = schema.GroupKind{Kind: "Pod"}
)

// faults are the faults of requests. Each concerns one request, so a part of a batch may
// fail.
var faults = []fault{
	{"409 conflict", 3, writes, refuse(func(q *cluster.Request) error {
		return apierrors.NewConflict(podResource, q.Name, errors.New("the object has been modified"))
	})},
	{"422 invalid", 1, writes, refuse(func(q *cluster.Request) error {
		return apierrors.NewInvalid(podKind, q.Name, nil)
	})},
	{"500 internal error", 2, nil, refuse(func(*cluster.Request) error {
		return apierrors.NewInternalError(errors.New("something broke"))
	})},
	{"429 too many requests", 1, nil, refuse(func(*cluster.Request) error {
		return apierrors.NewTooManyRequests("slow down", 1)
	})},
	{"timeout without effect", 2, nil, refuse(timeout)},
	{"timeout with effect", 3, writes, func(q *cluster.Request) cluster.Fault {
		return cluster.Fault{Err: timeout(q), Lost: true}
	}},
	{"answer never comes", 2, nil, refuse(func(*cluster.Request) error { return cluster.ErrNoAnswer })},
	{"answer never comes, with effect", 2, writes, func(*cluster.Request) cluster.Fault {
		return cluster.Fault{Err: cluster.ErrNoAnswer, Lost: true}
	}},
	{"sync abandoned", 1, nil, refuse(func(*cluster.Request) error { return cluster.ErrGivenUp })},
	{"sync abandoned, with effect", 1, writes, func(*cluster.Request) cluster.Fault {
		return cluster.Fault{Err: cluster.ErrGivenUp, Lost: true}
	}},
	{"quota rejects a pod", 2, func(q *cluster.Request) bool { return q.Verb == cluster.Create }, quota},
	{"killed before a write", 2, nil, func(*cluster.Request) cluster.Fault { return cluster.Fault{Killed: true} }},
	{"killed after a write", 3, writes,
		func(*cluster.Request) cluster.Fault { return cluster.Fault{Killed: true, Lost: true} }},
}

var quota = refuse(func(q *cluster.Request) error {
	return apierrors.NewForbidden(podResource, q.Name, errors.New("exceeded quota"))
})

func writes(q *cluster.Request) bool {
	return q.Verb != cluster.Get && q.Verb != cluster.ListJobs && q.Verb != cluster.List && q.Verb != cluster.GetPod
}

func timeout(*cluster.Request) error { return apierrors.NewTimeoutError("no answer", 1) }

func refuse(with func(*cluster.Request) error) func(*cluster.Request) cluster.Fault {
	return func(q *cluster.Request) cluster.Fault { return cluster.Fault{Err: with(q)} }
}
