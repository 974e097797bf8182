package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/kube"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// process is a controller process: a Reconciler and its Env.
type process struct {
	*Env
	reconcile.Reconciler
}

// answer is the result of Reconcile, with its consequences.
type answer struct {
	reconcile.Result
	err   error
	retry bool          // the error causes a retry
	again time.Duration // until Reconcile is called again; 0: until something changes
}

// longest is the longest wait between two calls, because the clock of a bubble ends in
// 2262.
const longest = 100 * 24 * time.Hour

// reconcile calls Reconcile as controller-runtime does. An error discards the result; the
// rate limiter says when to retry, unless the error is terminal. The context has a logger,
// because without one controller-runtime retains every logger that Reconcile requests.
func (p *process) reconcile(request reconcile.Request) answer {
	ctx, stop := context.WithCancel(log.IntoContext(context.Background(), logr.Discard()))
	defer stop()
	p.stop = stop
	var a answer
	a.Result, a.err = call(ctx, p.Reconciler, request)
	a.retry = a.err != nil && !errors.Is(a.err, reconcile.TerminalError(nil))
	switch {
	case a.retry, a.err == nil && a.RequeueAfter == 0 && a.Requeue:
		a.again = max(p.RateLimiter.When(request), time.Nanosecond)
	case a.err == nil:
		p.RateLimiter.Forget(request)
		a.again = a.RequeueAfter
	}
	a.again = min(a.again, longest)
	return a
}

func call(ctx context.Context, r reconcile.Reconciler, request reconcile.Request) (result reconcile.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &referee.Violation{Property: "S16", Text: fmt.Sprintf("Reconcile panics: %v", r)}
		}
	}()
	return r.Reconcile(ctx, request)
}

// discarded reports whether an error discards a RequeueAfter.
func (a answer) discarded() bool { return a.err != nil && a.RequeueAfter > 0 }

// String describes what Reconcile returned.
func (a answer) String() string {
	switch {
	case a.err == nil:
		return fmt.Sprintf("returned RequeueAfter %v and no error", a.RequeueAfter)
	case a.discarded():
		return fmt.Sprintf("returned a RequeueAfter of %v together with an error, which discards it: %v",
			a.RequeueAfter, a.err)
	}
	return fmt.Sprintf("returned the error: %v", a.err)
}

// forJobs is a process whose Reconcile is called for Jobs.
type forJobs struct {
	process
	requests []reconcile.Request // sent before those for Jobs
	stall    string              // why the Job may stall
}

func newForJobs(c Config, server *kube.Server, factory func(*Env) reconcile.Reconciler) *forJobs {
	p := &forJobs{process: process{Env: newEnv(server)}}
	if err := p.withStores(); err != nil {
		p.fail(err)
	}
	p.Reconciler = factory(p.Env)
	for _, name := range c.Requests {
		var request reconcile.Request
		request.Namespace, request.Name, _ = strings.Cut(name, "/")
		p.requests = append(p.requests, request)
	}
	return p
}

// Sync implements [cluster.Controller].
func (p *forJobs) Sync(c *cluster.Client) (time.Duration, error) {
	p.now, p.stall = c, ""
	defer func() { p.now = nil }()
	p.moved()
	var after time.Duration
	var errs []error
	for i, request := range append(slices.Clip(p.requests), reconcile.Request{NamespacedName: c.Name}) {
		p.all = i < len(p.requests)
		a := p.reconcile(request)
		if a.discarded() {
			p.stall = "Reconcile " + a.String()
		}
		if a.retry {
			errs = append(errs, a.err)
		}
		if a.again > 0 && (after == 0 || a.again < after) {
			after = a.again
		}
		if p.now == nil {
			break // killed, or given up
		}
	}
	if p.broken != nil {
		return 0, p.broken
	}
	return after, errors.Join(errs...)
}

// Stop ends the process.
func (p *forJobs) Stop() { p.end() }

// Explain says why a Job may stall.
func (p *forJobs) Explain() string { return p.stall }
