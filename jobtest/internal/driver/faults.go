package driver

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Request is a request of a controller, as far as its faults depend on it.
type Request struct {
	Resource        schema.GroupResource
	Name            string
	Writes, Creates bool
}

// Fault is a possible fault of a request.
type Fault struct {
	Name   string
	weight int
	on     func(Request) bool // nil: any
	lost   bool               // the request takes effect
	err    func(Request) error
}

const conflict, invalid = "409 conflict", "422 invalid"

// Untrue lists the faults that an API server answers only if the object is as they say. A controller
// may wait for the object to change.
var Untrue = []string{conflict, invalid}

// Faults lists the faults of requests. Each concerns one request, so a part of a batch may fail.
var Faults = []Fault{
	{conflict, 3, write, false, func(q Request) error {
		return apierrors.NewConflict(q.Resource, q.Name, errors.New("the object has been modified"))
	}},
	{invalid, 1, write, false, func(q Request) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: q.Resource.Group, Kind: q.Resource.Resource}, q.Name, nil)
	}},
	{"500 internal error", 2, nil, false,
		func(Request) error { return apierrors.NewInternalError(errors.New("something broke")) }},
	{"429 too many requests", 1, nil, false,
		func(Request) error { return apierrors.NewTooManyRequests("slow down", 1) }},
	{"timeout without effect", 2, nil, false, timeout},
	{"timeout with effect", 3, write, true, timeout},
	{"answer never comes", 2, nil, false, always(cluster.ErrNoAnswer)},
	{"answer never comes, with effect", 2, write, true, always(cluster.ErrNoAnswer)},
	{"sync abandoned", 1, nil, false, always(cluster.ErrGivenUp)},
	{"sync abandoned, with effect", 1, write, true, always(cluster.ErrGivenUp)},
	{"quota rejects a creation", 2, func(q Request) bool { return q.Creates }, false, overQuota},
	{"killed before a write", 2, nil, false, always(cluster.ErrKilled)},
	{"killed after a write", 3, write, true, always(cluster.ErrKilled)},
}

// Fault draws the fault of a request, and returns its number in Faults; -1 if it has no fault of
// these. Before that, it calls a function, in which other things may happen. When the faults have
// stopped, a creation may still be rejected.
func (s *Schedule) Fault(q Request, before func()) (number int, fault cluster.Fault) {
	switch {
	case s.NoCreations && q.Creates:
		return -1, cluster.Fault{Err: overQuota(q)}
	case s.Faultless || s.Broken():
		return -1, cluster.Fault{}
	}
	before()
	if !s.Chance(12, "fault") {
		return -1, cluster.Fault{}
	}
	i := draw(s, Faults, func(f *Fault) int { return f.weight })
	f := &Faults[i]
	if !s.Allows(f.Name) || f.on != nil && !f.on(q) {
		return -1, cluster.Fault{}
	}
	s.Happened(f.Name)
	err := f.err(q)
	return i, cluster.Fault{Err: err, Lost: f.lost, Killed: errors.Is(err, cluster.ErrKilled)}
}

// overQuota is the error of a creation that a quota rejects.
func overQuota(q Request) error {
	return apierrors.NewForbidden(q.Resource, q.Name, errors.New("exceeded quota"))
}

func write(q Request) bool { return q.Writes }

func timeout(Request) error { return apierrors.NewTimeoutError("no answer", 1) }

func always(err error) func(Request) error { return func(Request) error { return err } }
