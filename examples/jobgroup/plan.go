package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/validation"
)

const (
	managedBy         = "jobfate.dev/jobgroup"  // the name in spec.managedBy of the Jobs
	groupLabel        = "jobfate.dev/job-group" // the name of the group
	attemptAnnotation = "jobfate.dev/attempt"   // the attempt that a Job was created for

	oldState = "OldState" // the phase and the reason of events if the status was lost, or is that of a backup
)

// members returns the members of a group.
func (g *JobGroup) members() (all []group.Member) {
	for _, t := range g.Spec.Jobs {
		for n := range t.Replicas {
			all = append(all, group.Member{Name: fmt.Sprintf("%s-%s-%d", g.Name, t.Name, n), Template: t.Name})
		}
	}
	return all
}

// plan returns the status to store, and the plan that follows, given the Jobs of the group. It does
// no I/O, and does not change its arguments.
func (g *JobGroup) plan(list []batchv1.Job, now time.Time) (Status, group.Plan, error) {
	s := *g.Status.DeepCopy()
	if err := g.check().ToAggregate(); err != nil && s.Failures.Phase == "" {
		s.Failures.Phase, s.Message = group.Failed, err.Error()
	}
	byName := map[string]*batchv1.Job{}
	for i := range list {
		if metav1.IsControlledBy(&list[i], g) {
			byName[list[i].Name] = &list[i]
		}
	}
	members := g.members()
	jobs := make([]group.Job, len(members))
	for i, m := range members {
		jobs[i] = group.Job{Member: m, Job: byName[m.Name], Attempt: attemptOf(byName[m.Name])}
	}
	p, err := group.MakePlan(&g.Spec.FailurePolicy, s.Failures, jobs, now)
	if s.Phase == oldState {
		s.Message = ""
	}
	s.Failures, s.Restarts, s.Succeeded = p.State, p.State.Restarts(), indexset.TextOf(p.Succeeded)
	s.Phase, s.Message = p.Phase(), cmp.Or(p.Message(), s.Message)
	if p.Action != "" {
		s.Counted = s.Counted.With(nil, []time.Time{p.Failure.At})
	}
	return s, p, err
}

// check checks what the schema cannot express.
func (g *JobGroup) check() (errs field.ErrorList) {
	path := field.NewPath("spec")
	for i, t := range g.Spec.Jobs {
		at := path.Child("jobs").Index(i).Child("podFailurePolicy")
		errs = append(errs, validation.RuleNames(t.PodFailurePolicy, at)...)
	}
	return append(errs, g.Spec.FailurePolicy.Check(g.members(), path.Child("failurePolicy"))...)
}

// newJob returns the Job of a member for its current attempt.
func (g *JobGroup) newJob(m group.Member) *batchv1.Job {
	t := g.Spec.Jobs[slices.IndexFunc(g.Spec.Jobs, func(t Template) bool { return t.Name == m.Template })]
	job := &batchv1.Job{Spec: *t.Spec.DeepCopy()}
	job.Namespace, job.Name, job.Labels = g.Namespace, m.Name, map[string]string{groupLabel: g.Name}
	job.Annotations = map[string]string{attemptAnnotation: strconv.FormatInt(g.Status.Failures.Attempt(m), 10)}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(g, groupVersion.WithKind("JobGroup"))}
	job.Spec.ManagedBy = new(managedBy)
	controller.NameRules(job, t.PodFailurePolicy)
	return job
}

// attemptOf returns the attempt that a Job was created for.
func attemptOf(job *batchv1.Job) int64 {
	if job == nil {
		return 0
	}
	n, _ := strconv.ParseInt(job.Annotations[attemptAnnotation], 10, 64) // 0 if it is not a number
	return n
}
