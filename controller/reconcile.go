package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

// controller runs the Jobs of one name in spec.managedBy, or the objects of one kind.
type controller struct {
	Options
	sender
	me     tracking.Controller
	decide []decide.Option
	*watcher
	recorder record.EventRecorder
	metrics  *metrics
	now      func() time.Time
	memories sync.Map // of *memory, by the request for the Job
	retries  *retries[reconcile.Request]
}

// memory is the state of a Job that is kept between syncs. It needs no lock, because the queue
// gives a Job to one worker at a time.
type memory struct {
	machine  *machine.Machine
	read     position // the last change that the machine has read
	reported reported
}

// Reconcile syncs a Job.
func (c *controller) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	store := c.stores.of(r.Namespace)
	view := store.view(r.NamespacedName)
	view.Now = c.now()
	job, managed := view.Job, c.me.Manages(view.Job)
	kept, found := c.memories.Load(r)
	switch {
	case managed && !found:
		m := machine.New(c.decide...)
		m.Names = podName
		kept = &memory{machine: m}
		c.memories.Store(r, kept)
	case !found:
		return reconcile.Result{}, nil
	case job != nil && !managed:
		c.memories.Delete(r)
		return reconcile.Result{}, nil
	}
	m := kept.(*memory)
	var options []decide.Option
	if job != nil {
		m.reported.resetFor(job)
		options = c.optionsOf(job, m)
		m.observe(store.pods, &view)
	}
	began := time.Now()
	over := m.begin(view, options) != nil || c.drive(ctx, m.machine, inFlight(c.QPS))
	result := m.machine.Result()
	if job != nil {
		c.report(job, m, result)
	}
	if !over {
		return unfinished(ctx), nil
	}
	if job != nil {
		c.metrics.synced(job, result.Decision.Action, time.Since(began), result.Err)
	}
	logSync(log.FromContext(ctx).V(2), m.machine, result, time.Since(began))
	if (job == nil || jobstatus.Finished(job) != nil) && m.machine.Idle() {
		c.memories.Delete(r)
	}
	return c.next(r, result)
}

// unfinished returns when to continue a sync whose context has ended. If the controller is stopping, the next leader
// continues. Otherwise the manager bounds the time of a sync.
func unfinished(ctx context.Context) (r reconcile.Result) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		r.RequeueAfter = time.Second
	}
	return r
}

// logOf returns the logger of a Job, with its name and UID. r is nil for what concerns no Job.
func (c *controller) logOf(r *reconcile.Request) logr.Logger {
	log := quietly(c.log)
	if r == nil {
		return log
	}
	log = log.WithValues("namespace", r.Namespace, "name", r.Name)
	if job := c.stores.of(r.Namespace).view(r.NamespacedName).Job; job != nil {
		log = log.WithValues("uid", job.UID)
	}
	return log
}

// logSync logs what a sync has decided, and why.
func logSync(log logr.Logger, m *machine.Machine, result machine.Result, took time.Duration) {
	if !log.Enabled() {
		return
	}
	d := &result.Decision
	log.Info("Synced", "action", d.Action, "why", explain.Of(*d).Job().Code, "claims", len(d.Claim),
		"deletes", len(d.Delete), "creates", len(d.Create), "finalizers", len(d.Strip), "status", d.Status != nil,
		"pending", m, "again", result.Requeue, "took", took)
}

// observe reads the pods of a Job, or only the changed ones if the Machine knows the others.
func (m *memory) observe(pods *podCache, view *machine.View) {
	r := pods.read(view.Job, m.read)
	view.PodsVersion, view.Pods, view.Fed = r.version, r.all, r.fed
	for name, pod := range r.changed {
		m.machine.Feed(name, pod)
	}
	m.read = r.next
}

// begin begins a sync. The result of the sync contains the error too. Without a Job, or after an
// error, the Machine has not read the pods, so the next sync reads them all.
func (m *memory) begin(view machine.View, options []decide.Option) error {
	err := m.machine.Begin(view, options...)
	if view.Job == nil || err != nil {
		m.read = position{}
	}
	return err
}

// optionsOf returns the options of one sync: the names of the Job's rules, if any, and the
// caller's options.
func (c *controller) optionsOf(job *batchv1.Job, m *memory) (options []decide.Option) {
	names, named, err := ruleNames(job)
	c.record(job, m.reported.badNames(err))
	if named {
		options = append(options, decide.RuleNames(names...))
	}
	if c.DecideFor != nil {
		options = append(options, c.DecideFor(job)...)
	}
	return options
}

// report sends the events and records the metrics of a sync.
func (c *controller) report(job *batchv1.Job, m *memory, result machine.Result) {
	routine := 0
	for _, e := range result.Events {
		if e.Reason == "SuccessfulCreate" || e.Reason == "SuccessfulDelete" {
			if routine++; routine > eventsPerSync {
				continue
			}
		}
		c.record(job, e)
	}
	c.metrics.add(result.Metrics)
	c.record(job, m.reported.refused(result.Err))
	c.record(job, m.reported.explained(explain.Of(result.Decision).Job(), c.now()))
	c.record(job, m.reported.failedIndexes(result.Decision))
}

// record sends an event unless it is empty.
func (c *controller) record(job *batchv1.Job, e decide.Event) {
	if e.Reason != "" {
		c.recorder.Event(c.reference(job), string(e.Type), e.Reason, e.Message)
	}
}

// next returns when to sync the Job again. It returns every error, so that controller-runtime
// counts it. After its first sync a Job has the default priority.
func (c *controller) next(r reconcile.Request, result machine.Result) (reconcile.Result, error) {
	next := reconcile.Result{Priority: new(0)}
	switch err := result.Err; {
	case err == nil:
		next.RequeueAfter = result.Requeue
		return next, nil
	case permanent(err):
		return next, reconcile.TerminalError(err) // the next change of the Job triggers a sync
	default:
		// After an error the queue takes the delay from c.retries, which respects this
		// bound.
		due := result.Requeue
		if expected(err) {
			due = least(due, c.BatchPeriod)
		}
		c.retries.bounds.Store(r, bounds{due, result.RetryAfter})
		return next, err
	}
}

// permanent reports whether a retry cannot help.
func permanent(err error) bool {
	var input *decide.InputError
	return errors.As(err, &input) || errors.Is(err, decide.ErrNotManaged)
}

// expected reports whether another client caused the error, and all errors that are joined in it, by changing or
// deleting the same object.
func expected(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !expected(err) })
	}
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
