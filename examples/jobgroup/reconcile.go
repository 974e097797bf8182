package main

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// groupController carries out the decisions about groups.
type groupController struct {
	client   client.Client // reads from the cache
	live     client.Reader // reads live
	recorder events.EventRecorder
}

// errStale says that the cache is stale. The next update of the cache triggers a reconcile.
var errStale = errors.New("the cache is stale")

// Reconcile reconciles one group. It may be stopped at any point, and its cache may be stale. Then
// the API server rejects wrong writes, because a status write names the resource version of the
// group, and a deletion names the UID of the Job. Before Reconcile creates Jobs, it reads live.
func (c *groupController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	group := &JobGroup{}
	if err := c.client.Get(ctx, r.NamespacedName, group); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if group.DeletionTimestamp != nil {
		return reconcile.Result{}, nil // garbage collection deletes its Jobs
	}
	jobs, err := jobsOf(ctx, c.client, group)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = c.carryOut(ctx, group, decide(group, jobs))
	if apierrors.IsConflict(err) || errors.Is(err, errStale) {
		err = nil
	}
	return reconcile.Result{}, err
}

// jobsOf returns the Jobs that the group controls.
func jobsOf(ctx context.Context, from client.Reader, group *JobGroup) (jobs []*batchv1.Job, err error) {
	var list batchv1.JobList
	if err := from.List(ctx, &list, client.InNamespace(group.Namespace),
		client.MatchingLabels{groupLabel: group.Name}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if job := &list.Items[i]; metav1.IsControlledBy(job, group) {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

// carryOut stores the new status first. The write names the resource version of the group, so the
// same failure is not handled twice.
func (c *groupController) carryOut(ctx context.Context, group *JobGroup, p plan) error {
	if err := c.store(ctx, group, p.status); err != nil {
		return err
	}
	for _, job := range p.remove {
		// In the foreground: the Job is gone when its pods are.
		err := c.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &job.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Job %s: %w", job.Name, err)
		}
	}
	if len(p.create) == 0 {
		return nil
	}
	return c.createJobs(ctx, group)
}

// createJobs creates the missing Jobs of the group. A stale cache may lack a restart of the
// group, or a Job from before the restart. So createJobs reads the group and the Jobs live.
func (c *groupController) createJobs(ctx context.Context, group *JobGroup) error {
	now := &JobGroup{}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(group), now); err != nil {
		return client.IgnoreNotFound(err)
	}
	jobs, err := jobsOf(ctx, c.live, group)
	if err != nil {
		return err
	}
	p := decide(group, jobs)
	if now.UID != group.UID || now.ResourceVersion != group.ResourceVersion ||
		!equality.Semantic.DeepEqual(p.status, group.Status) {
		return errStale
	}
	for _, m := range p.create {
		if err := c.create(ctx, group, m); apierrors.IsInvalid(err) {
			return c.store(ctx, group, p.status.fail(err.Error()))
		} else if err != nil {
			c.recorder.Eventf(group, nil, "Warning", "CannotCreate", "Create", "Job %s: %v", m.name, err)
			return fmt.Errorf("creating Job %s: %w", m.name, err)
		}
	}
	return nil
}

// create creates a Job. If the group already has the Job, which the cache may not show yet, create
// returns no error.
func (c *groupController) create(ctx context.Context, group *JobGroup, m member) error {
	err := c.client.Create(ctx, newJob(group, m))
	if apierrors.IsAlreadyExists(err) {
		found := &batchv1.Job{}
		key := client.ObjectKey{Namespace: group.Namespace, Name: m.name}
		if c.live.Get(ctx, key, found) == nil && metav1.IsControlledBy(found, group) {
			return nil
		}
	}
	return err
}

func (c *groupController) store(ctx context.Context, group *JobGroup, status Status) error {
	if equality.Semantic.DeepEqual(status, group.Status) {
		return nil
	}
	group.Status = status
	return c.client.Status().Update(ctx, group)
}
