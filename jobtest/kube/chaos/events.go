package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// action is something that may happen in a schedule of a [Creator].
type action struct {
	name string
	// step is how often the action is drawn as a step, aside how often during a Reconcile.
	step, aside int
	do          func(*schedule)
}

// actions is set by init, because some actions call functions that draw from it.
var actions []action

func init() {
	actions = []action{
		{"reconcile", 60, 0, func(s *schedule) {
			s.reconcile(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pick(s, s.owners))})
		}},
		{"the cache shows a change", 40, 6, func(s *schedule) { s.p.show(pick(s, s.seen())) }},
		{"the cache shows everything", 20, 2, func(s *schedule) { s.p.showAll() }},
		{"a Job advances", 40, 4, func(s *schedule) {
			if jobs := s.jobs(); len(jobs) > 0 {
				s.advanceJob(pick(s, jobs))
			}
		}},
		{"garbage is collected", 25, 3, func(s *schedule) { kube.Collector{Server: s.server}.Step() }},
		{"a user deletes a Job", 2, 1, func(s *schedule) {
			if jobs := s.jobs(); len(jobs) > 0 && s.end == "" {
				s.delete(pick(s, jobs))
			}
		}},
		{"a user creates an owner again", 1, 1, func(s *schedule) {
			o := pick(s, s.owners).DeepCopyObject().(client.Object)
			s.delete(o)
			_ = s.users.Create(context.Background(), o) // the owner is valid
		}},
		{"a user annotates an object", 2, 1, func(s *schedule) {
			o := pick(s, s.owners).DeepCopyObject().(client.Object)
			if jobs := s.jobs(); len(jobs) > 0 && s.IntN(2) == 0 {
				o = pick(s, jobs).DeepCopy()
			}
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/note":"%d"}}}`, s.IntN(1000))
			// may be gone
			_ = s.users.Patch(context.Background(), o, client.RawPatch("application/merge-patch+json", []byte(patch)))
		}},
		{"time passes", 8, 1, func(s *schedule) { time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond) }},
		{"time passes to the requeue", 8, 0, func(s *schedule) { time.Sleep(max(0, time.Until(s.nextDue()))) }},
		{"the controller restarts", 3, 0, func(s *schedule) { s.start() }},
	}
}

func asStep(a *action) int { return a.step }
func aside(a *action) int  { return a.aside }

// choose draws an action and executes it.
func (s *schedule) choose(weight func(*action) int) {
	a := &actions[driver.Draw(s.Schedule, actions, weight)]
	if !s.Allows(a.name) {
		return
	}
	if a.name != "reconcile" {
		s.Happened(a.name)
		s.log.Begin(s.Step, time.Now(), a.name)
	}
	a.do(s)
}

func pick[T any](s *schedule, from []T) T { return from[s.IntN(len(from))] }

func (s *schedule) delete(o client.Object) {
	_ = s.users.Delete(context.Background(), o, client.PropagationPolicy("Background")) // may be gone
}

// requestFault is a possible fault of a request.
type requestFault struct {
	name    string
	weight  int
	on      func(*kube.Request) bool // nil: any
	kills   bool
	verdict func(*kube.Request) kube.Verdict
}

// faults do not include a 422, because that answer depends only on the object.
var faults = []requestFault{
	{"answered with 500", 2, nil, false,
		refused(func(*kube.Request) error { return apierrors.NewInternalError(errors.New("something broke")) })},
	{"answered with 504", 2, nil, false, refused(timeout)},
	{"carried out, and answered with 504", 3, isWrite, false, lost(timeout)},
	{"not carried out: the connection breaks", 2, nil, false, refused(broken)},
	{"carried out, and the connection breaks", 4, isWrite, false, lost(broken)},
	{"rejected by a quota", 2, func(r *kube.Request) bool { return r.Verb == "create" }, false, overQuota},
	{"not sent: the controller is killed", 3, nil, true, refused(broken)},
	{"carried out, and the controller is killed", 4, isWrite, true, lost(broken)},
}

const overQuotaForAWhile = "a quota rejects creations for a while"

var overQuota = refused(func(r *kube.Request) error {
	return apierrors.NewForbidden(r.Resource.GroupResource(), r.Name, errors.New("exceeded quota"))
})

func isWrite(r *kube.Request) bool { return r.Verb != "get" && r.Verb != "list" }

func timeout(*kube.Request) error { return apierrors.NewTimeoutError("no answer", 0) }

func broken(*kube.Request) error { return io.ErrUnexpectedEOF }

func refused(with func(*kube.Request) error) func(*kube.Request) kube.Verdict {
	return func(r *kube.Request) kube.Verdict { return kube.Verdict{Err: with(r)} }
}

func lost(with func(*kube.Request) error) func(*kube.Request) kube.Verdict {
	return func(r *kube.Request) kube.Verdict { return kube.Verdict{Err: with(r), Lost: true} }
}
