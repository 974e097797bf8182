package main

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	"github.com/jobfate/jobfate/indexset"
)

const (
	managedBy         = "jobfate.dev/jobgroup"  // the name in spec.managedBy of the Jobs
	groupLabel        = "jobfate.dev/job-group" // the name of the group
	attemptAnnotation = "jobfate.dev/attempt"   // the attempt that a Job was created for

	oldState = "OldState" // the phase and the reason of events if the status was lost, or is that of a backup
)

// groupController sends the requests of a [group.Driver].
type groupController struct {
	client   client.Client // reads from the cache
	live     client.Reader // reads live
	recorder events.EventRecorder
}

// Reconcile reconciles one group. It may be stopped at any point.
func (c *groupController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	var g JobGroup // as it was last read or stored
	var members []group.Object
	err := c.client.Get(ctx, r.NamespacedName, &g)
	if err == nil {
		members, err = list(ctx, c.client, &g)
	}
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var d group.Driver
	d.Begin(group.View{Owner: g.owner(), Members: members, Now: time.Now()})
	result := d.Run(func(r group.Request) (group.View, error) { return c.send(ctx, &g, r) })
	return reconcile.Result{RequeueAfter: result.Requeue}, c.show(ctx, &g, result)
}

// send sends a request of the driver.
func (c *groupController) send(ctx context.Context, g *JobGroup, r group.Request) (v group.View, err error) {
	switch r.Verb {
	case group.GetOwner:
		err = c.live.Get(ctx, client.ObjectKeyFromObject(g), g)
		v.Owner = g.owner()
	case group.ListMembers:
		v.Members, err = list(ctx, c.live, g)
	case group.StoreState:
		g.Status = g.statusOf(r.Plan)
		err = c.client.Status().Update(ctx, g)
		v.Owner.ResourceVersion = g.ResourceVersion
	case group.DeleteMember: // in the foreground: the Job is gone when its pods are
		err = c.client.Delete(ctx, r.Object.(*jobs.Job).Job, client.Preconditions{UID: &r.UID},
			client.PropagationPolicy(metav1.DeletePropagationForeground))
	case group.CreateMember:
		err = c.client.Create(ctx, g.newJob(r.Member, r.Attempt))
	}
	return v, err
}

// list returns the members of a group with their Jobs.
func list(ctx context.Context, from client.Reader, g *JobGroup) ([]group.Object, error) {
	var found batchv1.JobList
	err := from.List(ctx, &found, client.InNamespace(g.Namespace), client.MatchingLabels{groupLabel: g.Name})
	return jobs.Of(g.UID, g.members(), found.Items, attemptAnnotation), err
}

// show stores what people read in the status, and reports what went wrong.
func (c *groupController) show(ctx context.Context, g *JobGroup, r group.Result) error {
	status := g.statusOf(r.Plan)
	switch {
	case r.Lost != nil:
		status.Phase, status.Message = oldState, r.Lost.Error()+"; delete the Jobs of later attempts to go on"
		c.recorder.Eventf(g, nil, "Warning", oldState, "Decide", "%s", status.Message)
	case apierrors.IsConflict(r.Err):
		return nil // the cache will change
	case r.Err != nil:
		c.recorder.Eventf(g, nil, "Warning", "CannotSync", "Sync", "%v", r.Err)
		return r.Err
	}
	if r.Gone || reflect.DeepEqual(status, g.Status) {
		return r.Err
	}
	g.Status = status
	return cmp.Or(c.client.Status().Update(ctx, g), r.Err)
}

// owner returns what the driver needs of a group.
func (g *JobGroup) owner() group.Owner {
	return group.Owner{UID: g.UID, ResourceVersion: g.ResourceVersion, Deleting: g.DeletionTimestamp != nil,
		State: g.Status.Failures, Policy: &g.Spec.FailurePolicy, Invalid: g.check().ToAggregate()}
}

// statusOf returns the status after a plan.
func (g *JobGroup) statusOf(p *group.Plan) Status {
	s := g.Status
	if s.Phase == oldState {
		s.Message = ""
	}
	s.Failures, s.Restarts, s.Succeeded = p.State, p.State.Restarts(), indexset.Of(p.Succeeded...).String()
	s.Phase, s.Message = string(p.Phase()), cmp.Or(p.Message(), s.Message)
	if p.Action != "" {
		s.Counted = s.Counted.With(nil, []time.Time{p.Failure.At})
	}
	return s
}

// newJob returns the Job of a member for an attempt.
func (g *JobGroup) newJob(m group.Member, attempt int32) *batchv1.Job {
	t := g.Spec.Jobs[slices.IndexFunc(g.Spec.Jobs, func(t Template) bool { return t.Name == m.Template })]
	job := &batchv1.Job{Spec: *t.Spec.DeepCopy()}
	job.Namespace, job.Name, job.Labels = g.Namespace, m.Name, map[string]string{groupLabel: g.Name}
	job.Annotations = map[string]string{attemptAnnotation: strconv.Itoa(int(attempt))}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(g, groupVersion.WithKind("JobGroup"))}
	job.Spec.ManagedBy = new(managedBy)
	controller.NameRules(job, t.PodFailurePolicy)
	return job
}
