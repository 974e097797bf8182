package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/group"
)

// groupController carries out the plans for groups.
type groupController struct {
	client   client.Client // reads from the cache
	live     client.Reader // reads live
	recorder events.EventRecorder
}

// Reconcile reconciles one group. It may be stopped at any point, and its cache may be stale. Then the
// API server rejects wrong writes, because a status write names the resource version of the group, and a
// deletion names the UID of the Job. The next change of the cache triggers another call.
func (c *groupController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	old := new(group.OldStateError)
	g, p, err := c.delete(ctx, c.client, r.NamespacedName)
	if err == nil && len(p.Create) > 0 || errors.As(err, &old) {
		// A stale cache may lack a restart of the group, or a Job from before the restart.
		g, p, err = c.delete(ctx, c.live, r.NamespacedName)
	}
	if err == nil {
		err = c.create(ctx, &g, p.Create)
	} else if errors.As(err, &old) {
		err = c.report(ctx, &g, old)
	}
	if apierrors.IsConflict(err) {
		err = nil
	}
	return reconcile.Result{RequeueAfter: p.Wait}, err
}

// report says that the status of a group was lost, or is that of a backup. It returns an error, so that the group is
// reconciled again.
func (c *groupController) report(ctx context.Context, g *JobGroup, old *group.OldStateError) error {
	status := g.Status
	status.Phase, status.Message = oldState, old.Error()+"; delete the Jobs of later attempts to go on"
	if !reflect.DeepEqual(status, g.Status) {
		g.Status = status
		if err := c.client.Status().Update(ctx, g); err != nil {
			return err
		}
	}
	c.recorder.Eventf(g, nil, "Warning", oldState, "Decide", "%s", status.Message)
	return old
}

func (c *groupController) create(ctx context.Context, g *JobGroup, members []group.Member) error {
	for _, m := range members {
		if err := c.client.Create(ctx, g.newJob(m)); apierrors.IsInvalid(err) {
			g.Status.Failures.Phase, g.Status.Message = group.Failed, err.Error()
			return c.client.Status().Update(ctx, g)
		} else if err != nil {
			c.recorder.Eventf(g, nil, "Warning", "CannotCreate", "Create", "Job %s: %v", m.Name, err)
			return fmt.Errorf("creating Job %s: %w", m.Name, err)
		}
	}
	return nil
}

// delete reads a group and its Jobs, and makes a plan. It stores the status if it changes, or else
// deletes Jobs, and returns the rest of the plan.
func (c *groupController) delete(ctx context.Context, from client.Reader,
	key client.ObjectKey) (g JobGroup, p group.Plan, err error) {
	var jobs batchv1.JobList
	if err := from.Get(ctx, key, &g); err != nil || g.DeletionTimestamp != nil {
		return g, p, client.IgnoreNotFound(err) // garbage collection deletes the Jobs
	}
	of := client.MatchingLabels{groupLabel: g.Name}
	if err := from.List(ctx, &jobs, client.InNamespace(g.Namespace), of); err != nil {
		return g, p, err
	}
	status, p, err := g.plan(jobs.Items, time.Now())
	if err != nil {
		return g, p, err
	}
	if !reflect.DeepEqual(status, g.Status) {
		g.Status = status
		return g, group.Plan{}, c.client.Status().Update(ctx, &g)
	}
	for _, j := range p.Delete { // in the foreground: the Job is gone when its pods are
		err := c.client.Delete(ctx, j.Job, client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &j.Job.UID})
		if client.IgnoreNotFound(err) != nil {
			return g, p, err
		}
	}
	return g, p, nil
}
