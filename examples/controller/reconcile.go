package main

import (
	"context"
	"errors"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// controller carries out the decisions of jobfate for the Jobs that name it in
// spec.managedBy.
type controller struct {
	me      tracking.Controller
	options []jobfate.Option
	store   store
	// reader reads past the caches. writer keeps to the limits of the client.
	reader, writer kubernetes.Interface
	recorder       record.EventRecorder
	metrics        *metrics
	now            func() time.Time

	memories memories
	// failures says when to try again after one.
	failures workqueue.TypedRateLimiter[reconcile.Request]
	desks    sync.Pool // of *desk
}

// desk is the room that a worker needs for a turn, kept for the next one.
type desk struct {
	scratch jobfate.Scratch
	pods    []*corev1.Pod
}

// refusal is the error for a Job that cannot be decided.
type refusal struct{ error }

// Reconcile looks at the Job of a name once. A request without a name is for the
// pods of a namespace that nobody controls.
func (c *controller) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	again, err := c.turn(ctx, key.NamespacedName)
	switch logger := log.FromContext(ctx); {
	case err == nil:
		c.failures.Forget(key)
		return reconcile.Result{RequeueAfter: again}, nil
	case apierrors.IsConflict(err), errors.Is(err, errStale), errors.Is(err, context.Canceled):
		logger.V(1).Info("Starting again", "because", err)
	default:
		logger.Error(err, "Turn failed")
	}
	// The queue would go by its own delay if it were given the error, and a
	// deadline would pass meanwhile.
	return reconcile.Result{RequeueAfter: least(again, c.failures.When(key))}, nil
}

// turn carries out one decision. The numbers are those of the protocol in the
// package documentation of jobfate.
func (c *controller) turn(ctx context.Context, key types.NamespacedName) (again time.Duration, err error) {
	job := c.store.job(key)
	if err := c.free(ctx, key, job); err != nil {
		return 0, err
	}
	if job == nil || !c.me.Manages(job) {
		c.memories.forget(key)
		return 0, nil
	}
	m := c.memories.of(job)
	desk := c.desks.Get().(*desk)
	defer c.desks.Put(desk)

	action, started := "reconciling", time.Now()
	defer func() { c.metrics.synced(job, action, time.Since(started), err) }()
	options := c.optionsFor(job, m)
	s, err := c.snapshot(ctx, job, m, desk.pods[:0], options) // 1
	desk.pods = s.Pods
	if errors.As(err, new(refusal)) {
		return 0, c.refuse(job, m, err)
	}
	if err != nil {
		return m.nextAsk(s.Now), err
	}
	d, err := desk.scratch.Decide(s, options...) // 2
	if err != nil {
		return 0, c.refuse(job, m, err)
	}
	m.told.refusal, action = "", d.Action
	again, err = c.carryOut(ctx, s.Job, d, m)
	if jobstatus.Finished(s.Job) != nil && m.settled() {
		c.memories.forget(key)
	}
	return least(again, m.nextAsk(s.Now)), err
}

// carryOut is the protocol from step 3 on.
func (c *controller) carryOut(ctx context.Context, job *batchv1.Job, d jobfate.Decision, m *memory) (again time.Duration, err error) {
	if err := c.claim(ctx, job, d.Claim, m); err != nil { // 3
		return d.Requeue, err
	}
	done, failed := c.act(ctx, job, d, m) // 4
	if failed != nil {                    // 5
		d = d.Revise(done)
	}
	version := job.ResourceVersion
	if patch := d.StatusPatch(version); patch != nil { // 6
		if version, err = c.storeStatus(ctx, job, patch, m); err != nil {
			return d.Requeue, errors.Join(failed, err)
		}
	}
	m.backoff = d.Backoff // 7
	c.tell(job, d.Events, d.Metrics)
	c.explain(job, d, m)
	gone, left := c.strip(ctx, d.Strip, m) // 8
	settled := d.Settle(gone...)           // 9
	if patch := settled.StatusPatch(version); patch != nil {
		if _, err := c.storeStatus(ctx, job, patch, m); err != nil {
			return d.Requeue, errors.Join(failed, left, err)
		}
	}
	c.tell(job, settled.Events, settled.Metrics)
	return d.Requeue, errors.Join(failed, left) // 10
}

// optionsFor returns the options for a Job: those that hold for all, and the
// names of its rules.
func (c *controller) optionsFor(job *batchv1.Job, m *memory) []jobfate.Option {
	names, named, err := ruleNames(job)
	event, news := m.told.badNames(err)
	c.recordIf(job, event, news)
	if !named {
		return c.options
	}
	return append(c.options[:len(c.options):len(c.options)], jobfate.RuleNames(names...))
}

// refuse tells the user that the Job cannot be decided. It is looked at again
// when it changes, and holds nobody up.
func (c *controller) refuse(job *batchv1.Job, m *memory, err error) error {
	event, news := m.told.refused(err)
	c.recordIf(job, event, news)
	return nil
}

// explain tells the user what an event tells better than the status.
func (c *controller) explain(job *batchv1.Job, d jobfate.Decision, m *memory) {
	event, news := m.told.explain(d.Why.Job(), c.now())
	c.recordIf(job, event, news)
	event, news = failedIndexes(job, d)
	c.recordIf(job, event, news)
}

func (c *controller) tell(job *batchv1.Job, events []jobfate.Event, metrics []jobfate.Metric) {
	for _, e := range events {
		c.record(job, e)
	}
	c.metrics.add(metrics)
}
