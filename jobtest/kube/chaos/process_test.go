package chaos

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// A result of Reconcile has the same consequences as in controller-runtime: see
// reconcileHandler in its package internal/controller. The rate limiter delays the first
// retry by 5ms, and the second by 10ms.
func TestReconcile_answers(t *testing.T) {
	failed := errors.New("something failed")
	for _, c := range []struct {
		name   string
		result reconcile.Result
		err    error
		again  [2]time.Duration // until the next call, after the first and the second call
		retry  bool
		text   string
	}{
		{"nothing", reconcile.Result{}, nil, [2]time.Duration{}, false, "RequeueAfter 0s and no error"},
		{"RequeueAfter", reconcile.Result{RequeueAfter: time.Minute}, nil, [2]time.Duration{time.Minute, time.Minute}, false, "RequeueAfter 1m0s and no error"},
		{"Requeue", reconcile.Result{Requeue: true}, nil, [2]time.Duration{5 * time.Millisecond, 10 * time.Millisecond}, false, "RequeueAfter 0s and no error"},
		{"both", reconcile.Result{Requeue: true, RequeueAfter: time.Minute}, nil, [2]time.Duration{time.Minute, time.Minute}, false, "RequeueAfter 1m0s and no error"},
		{"an error", reconcile.Result{}, failed, [2]time.Duration{5 * time.Millisecond, 10 * time.Millisecond}, true, "the error: something failed"},
		{"an error discards RequeueAfter", reconcile.Result{RequeueAfter: time.Minute}, failed, [2]time.Duration{5 * time.Millisecond, 10 * time.Millisecond}, true, "which discards it: something failed"},
		{"a terminal error", reconcile.Result{}, reconcile.TerminalError(failed), [2]time.Duration{}, false, "the error: terminal error: something failed"},
		{"a terminal error discards RequeueAfter", reconcile.Result{RequeueAfter: time.Minute}, reconcile.TerminalError(failed), [2]time.Duration{}, false, "which discards it: terminal error: something failed"},
		{"a very long wait", reconcile.Result{RequeueAfter: 1 << 62}, nil, [2]time.Duration{longest, longest}, false, "no error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := process{&Env{RateLimiter: defaultRateLimiter()}, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return c.result, c.err })}
			for i, want := range c.again {
				a := p.reconcile(reconcile.Request{})
				if a.again != want || a.retry != c.retry || !strings.Contains(a.String(), c.text) {
					t.Errorf("call %d: again after %v, as a retry: %v, text %q; want %v, %v, %q", i+1, a.again, a.retry, a, want, c.retry, c.text)
				}
			}
		})
	}
}

// A success resets the rate limiter.
func TestReconcile_success(t *testing.T) {
	var err error
	p := process{&Env{RateLimiter: defaultRateLimiter()}, reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, err })}
	for i, want := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 0, 5 * time.Millisecond} {
		if err = nil; want > 0 {
			err = errors.New("something failed")
		}
		if a := p.reconcile(reconcile.Request{}); a.again != want {
			t.Errorf("call %d: again after %v, want %v", i+1, a.again, want)
		}
	}
}

// A panic is a violation. The context of Reconcile is cancelled when Reconcile has
// returned.
func TestReconcile_panic(t *testing.T) {
	var kept context.Context
	p := process{&Env{RateLimiter: defaultRateLimiter()}, reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		kept = ctx
		panic("oh")
	})}
	var v *referee.Violation
	if a := p.reconcile(reconcile.Request{}); !errors.As(a.err, &v) || v.Property != "S16" || !strings.Contains(v.Text, "oh") || kept.Err() == nil {
		t.Errorf("got %v with the context %v, want S16 and a cancelled context", a.err, kept.Err())
	}
}

// A fault loses the answer of a write, ends the Reconcile, or kills the controller, and then ends
// the Reconcile too.
func TestIntercept(t *testing.T) {
	type effect struct{ lost, ended, killed bool }
	all := map[effect]bool{}
	for _, lost := range []bool{false, true} {
		all[effect{lost, false, false}], all[effect{lost, true, false}], all[effect{lost, true, true}] = true, true, true
	}
	reads := maps.Clone(all)
	maps.DeleteFunc(reads, func(e effect, _ bool) bool { return e.lost })
	var p driver.Plan
	for i := range actions {
		p.Off = append(p.Off, actions[i].Name)
	}
	for verb, want := range map[string]map[effect]bool{"create": all, "patch": all, "get": reads, "list": reads} {
		s := &schedule{Schedule: driver.NewSchedule(1, p), serial: make(lock, 1), server: kube.New(kube.Options{})}
		s.judged = s.server.Revision()
		got := map[effect]bool{}
		for range 2000 {
			s.p = &creating{process: process{Env: &Env{running: true, stop: func() {}}}}
			v := s.intercept(&kube.Request{Verb: verb})
			got[effect{v.Lost, !s.p.running, s.p.killed}] = true
			if errors.Is(v.Err, context.Canceled) == s.p.running {
				t.Fatalf("%s gets %v, and Reconcile goes on: %v", verb, v.Err, s.p.running)
			}
		}
		Same(t, "the effects of the faults of "+verb, got, want)
	}
}
