package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/group"
)

const (
	managedBy         = "jobfate.dev/jobgroup"           // the name in spec.managedBy of the Jobs
	groupLabel        = "jobfate.dev/job-group"          // the name of the group
	attemptAnnotation = "jobfate.dev/attempt"            // the attempt that a Job was created for
	namesAnnotation   = "jobfate.dev/failure-rule-names" // passes the names of the rules to the Job controller
)

// groupController carries out the decisions about groups.
type groupController struct {
	client   client.Client // reads from the cache
	live     client.Reader // reads live
	recorder events.EventRecorder
}

// errStale says that the cache is stale. The next update of the cache triggers a reconcile.
var errStale = errors.New("the cache is stale")

// Reconcile reconciles one group. It may be stopped at any point, and its cache may be stale. Then the
// API server rejects wrong writes, because a status write names the resource version of the group, and a
// deletion names the UID of the Job. Before Reconcile creates Jobs, it reads live.
func (c *groupController) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	wait, err := c.reconcile(ctx, r.NamespacedName)
	if old := new(group.OldStateError); apierrors.IsConflict(err) || errors.Is(err, errStale) || errors.As(err, &old) {
		err = nil
	}
	return reconcile.Result{RequeueAfter: wait}, err
}

func (c *groupController) reconcile(ctx context.Context, key client.ObjectKey) (time.Duration, error) {
	g := &JobGroup{}
	if err := c.client.Get(ctx, key, g); err != nil || g.DeletionTimestamp != nil {
		return 0, client.IgnoreNotFound(err) // garbage collection deletes the Jobs
	}
	p, err := planFor(ctx, c.client, g)
	if err != nil {
		return 0, err
	}
	if !equality.Semantic.DeepEqual(p.status, g.Status) {
		g.Status = p.status
		return 0, c.client.Status().Update(ctx, g)
	}
	for _, job := range p.remove { // in the foreground: the Job is gone when its pods are
		err := c.client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &job.UID})
		if client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting Job %s: %w", job.Name, err)
		}
	}
	if len(p.create) == 0 {
		return p.wait, nil
	}
	// A stale cache may lack a restart of the group, or a Job from before the restart.
	now := &JobGroup{}
	if err := c.live.Get(ctx, key, now); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	if p, err = planFor(ctx, c.live, g); err != nil {
		return 0, err
	}
	if now.UID != g.UID || now.ResourceVersion != g.ResourceVersion ||
		!equality.Semantic.DeepEqual(p.status, g.Status) {
		return 0, errStale
	}
	for _, m := range p.create {
		if err := c.create(ctx, g, m); apierrors.IsInvalid(err) {
			g.Status.Phase, g.Status.Message = Failed, err.Error()
			return 0, c.client.Status().Update(ctx, g)
		} else if err != nil {
			c.recorder.Eventf(g, nil, "Warning", "CannotCreate", "Create", "Job %s: %v", m.Name, err)
			return 0, fmt.Errorf("creating Job %s: %w", m.Name, err)
		}
	}
	return p.wait, nil
}

// planFor reads the Jobs that the group controls, and decides.
func planFor(ctx context.Context, from client.Reader, g *JobGroup) (plan, error) {
	var list batchv1.JobList
	if err := from.List(ctx, &list, client.InNamespace(g.Namespace),
		client.MatchingLabels{groupLabel: g.Name}); err != nil {
		return plan{}, err
	}
	var jobs []*batchv1.Job
	for i := range list.Items {
		if job := &list.Items[i]; metav1.IsControlledBy(job, g) {
			jobs = append(jobs, job)
		}
	}
	return decide(g, jobs, time.Now())
}

// create creates a Job. If the group already has the Job, which the cache may not show yet, create
// returns no error.
func (c *groupController) create(ctx context.Context, g *JobGroup, m member) error {
	err := c.client.Create(ctx, newJob(g, m))
	if found := (&batchv1.Job{}); apierrors.IsAlreadyExists(err) {
		key := client.ObjectKey{Namespace: g.Namespace, Name: m.Name}
		if c.live.Get(ctx, key, found) == nil && metav1.IsControlledBy(found, g) {
			return nil
		}
	}
	return err
}

// newJob returns the Job of a member for its current attempt.
func newJob(g *JobGroup, m member) *batchv1.Job {
	job := &batchv1.Job{Spec: *m.template.Spec.DeepCopy()}
	job.Namespace, job.Name, job.Labels = g.Namespace, m.Name, map[string]string{groupLabel: g.Name}
	job.Annotations = map[string]string{attemptAnnotation: strconv.FormatInt(g.Status.Failures.Attempt(m.Member), 10)}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(g, groupVersion.WithKind("JobGroup"))}
	job.Spec.ManagedBy = ptr.To(managedBy)
	if policy := m.template.PodFailurePolicy; policy != nil {
		job.Spec.PodFailurePolicy = policy.ToAPI()
		job.Annotations[namesAnnotation] = ruleNames(policy)
	}
	return job
}

// ruleNames returns the names of the rules by their indexes, as JSON. An empty object still requests
// reasons that name the rule.
func ruleNames(policy *failurepolicy.Spec) string {
	names := map[int]string{}
	for i, rule := range policy.Rules {
		if rule.Name != "" {
			names[i] = rule.Name
		}
	}
	text, _ := json.Marshal(names) // strings and numbers can always be written
	return string(text)
}

// attemptOf returns the attempt that a Job was created for.
func attemptOf(job *batchv1.Job) int64 {
	if job == nil {
		return 0
	}
	n, _ := strconv.ParseInt(job.Annotations[attemptAnnotation], 10, 64) // 0 if it is not a number
	return n
}
