package main

import (
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
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
	failures workqueue.TypedRateLimiter[request] // says when to try again
}

// Reconcile takes a turn.
func (c *controller) Reconcile(ctx context.Context, r request) (reconcile.Result, error) {
	logger := log.FromContext(ctx).WithValues("job", r.NamespacedName)
	ctx = log.IntoContext(ctx, logger)
	var again time.Duration
	var err error
	if r.gone != "" || r.Name == "" {
		err = c.free(ctx, r)
	} else {
		again, err = c.turn(ctx, r.NamespacedName)
	}
	switch {
	case err == nil:
		c.failures.Forget(r)
		return reconcile.Result{RequeueAfter: again}, nil
	case apierrors.IsConflict(err), errors.Is(err, errStale), ctx.Err() != nil:
		logger.V(1).Info("Beginning again", "because", err)
	default:
		logger.Error(err, "The turn failed")
	}
	// The queue would go by its own delay if it were given the error, and a
	// deadline would pass meanwhile.
	return reconcile.Result{RequeueAfter: least(again, c.failures.When(r))}, nil
}

// turn carries out one decision. The numbers are those of the protocol in the
// package documentation of jobfate.
func (c *controller) turn(ctx context.Context, name types.NamespacedName) (again time.Duration, err error) {
	job := c.store.job(name)
	if job == nil || !c.me.Manages(job) {
		c.memories.forget(name)
		return 0, nil
	}
	m := c.memories.of(job)
	began := time.Now()
	s, err := c.snapshot(ctx, job, m) // 1
	if err != nil {
		return m.nextAsk(s.Now), err
	}
	d, err := c.decide(s, m) // 2
	if err != nil {
		// It is looked at again when it changes, and holds nobody up.
		c.record(job, m.told.refused(err))
		return 0, nil
	}
	m.told.refusal = ""
	again, err = c.carryOut(ctx, s.Job, d, m)
	c.metrics.synced(job, d.Action, time.Since(began), err)
	log.FromContext(ctx).V(2).Info("Turn", "action", d.Action, "pods", len(s.Pods), "created", len(d.Create), "deleted", len(d.Delete),
		"stripped", len(d.Strip), "status", d.Status != nil, "again", again, "took", time.Since(began))
	if jobstatus.Finished(s.Job) != nil && m.settled() {
		c.memories.forget(name)
	}
	return least(again, m.nextAsk(s.Now)), err
}

// decide decides with the options that hold for all Jobs and the names of this
// one's rules.
func (c *controller) decide(s jobfate.Snapshot, m *memory) (d jobfate.Decision, err error) {
	options := c.options
	names, named, err := ruleNames(s.Job)
	if named {
		options = append(slices.Clip(options), jobfate.RuleNames(names...))
	}
	c.record(s.Job, m.told.badNames(err))
	return jobfate.Decide(s, options...)
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
	c.record(job, m.told.explained(explain.Of(d).Job(), c.now()))
	c.record(job, failedIndexes(job, d))
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

func (c *controller) tell(job *batchv1.Job, events []jobfate.Event, metrics []jobfate.Metric) {
	for _, e := range events {
		c.record(job, e)
	}
	c.metrics.add(metrics)
}

// record sends an event unless it is the empty one: nothing to tell.
func (c *controller) record(job *batchv1.Job, e jobfate.Event) {
	if e.Reason != "" {
		c.recorder.Event(job, string(e.Type), e.Reason, e.Message)
	}
}
