package main

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

// plan is the status of a group to store, and then the Jobs to remove and create. The Jobs depend on
// that status only, so they may be removed and created late, in part or twice.
type plan struct {
	status Status
	remove []*batchv1.Job
	create []member
	wait   time.Duration // until another Job may be created
}

// member is a Job that the group should have.
type member struct {
	group.Member
	template *Template
}

func (g *JobGroup) members() (all []member) {
	for i := range g.Spec.Jobs {
		t := &g.Spec.Jobs[i]
		for n := range t.Replicas {
			name := fmt.Sprintf("%s-%s-%d", g.Name, t.Name, n)
			all = append(all, member{group.Member{Name: name, Template: t.Name}, t})
		}
	}
	return all
}

// decide returns the plan for a group and its Jobs. It does no I/O, and does not change its arguments.
func decide(g *JobGroup, jobs []*batchv1.Job, now time.Time) (plan, error) {
	status, outdated, err := g.next(jobs, now)
	p := plan{status: status, remove: outdated}
	exists := map[string]bool{}
	for _, job := range jobs {
		exists[job.Name] = true
		if status.Phase == Failed && !jobstatus.OutcomeOf(job).Decided() && job.DeletionTimestamp == nil {
			p.remove = append(p.remove, job)
		}
	}
	for _, m := range g.members() {
		switch wait := status.Failures.NotBefore(m.Member).Sub(now); {
		case status.Phase != Running && status.Phase != Suspended || exists[m.Name]:
		case wait > 0 && (p.wait == 0 || wait < p.wait):
			p.wait = wait
		case wait <= 0 && status.Phase == Running:
			p.create = append(p.create, m)
		}
	}
	return p, err
}

// next returns the next status, and the Jobs of earlier attempts that are not being deleted.
func (g *JobGroup) next(jobs []*batchv1.Job, now time.Time) (s Status, outdated []*batchv1.Job, err error) {
	s = *g.Status.DeepCopy()
	if s.Phase == Succeeded || s.Phase == Failed {
		return s, nil, nil
	}
	if err := g.check().ToAggregate(); err != nil {
		s.Phase, s.Message = Failed, err.Error()
		return s, nil, nil
	}
	if !s.Failures.NotBefore(group.Member{}).After(now) {
		s.Failures = s.Failures.Resume()
	}
	members, byName := g.members(), map[string]*batchv1.Job{}
	for _, job := range jobs {
		byName[job.Name] = job
	}
	var failures []group.Failure
	for _, m := range members {
		job := byName[m.Name]
		if f, failed := group.FailureOf(job, m.Member, attemptOf(job)); failed && job.DeletionTimestamp == nil {
			failures = append(failures, f)
		}
	}
	d, err := group.Decide(&g.Spec.FailurePolicy, s.Failures, failures, now)
	if err != nil {
		return s, nil, err
	}
	s.Failures = d.State
	if d.Changed {
		f := d.Failure
		s.Message = fmt.Sprintf("%s: Job %s failed: %s: %s", d.Action, f.Name, f.Reason, f.Message)
		if d.Step < 0 {
			s.Message = "no step is left, " + s.Message
		}
	}
	s.Phase, s.Restarts = Running, int64(s.Failures.Group.Restarts)
	var succeeded indexset.Builder
	left := 0
	for i, m := range members {
		job, alone := byName[m.Name], s.Failures.Members[m.Name].Restarts
		s.Restarts += int64(alone)
		if s.Failures.Left(m.Member) {
			left++
		}
		switch attempt := s.Failures.Attempt(m.Member); {
		case job == nil:
		case attemptOf(job) < attempt:
			s.Phase = Restarting
			if job.DeletionTimestamp == nil {
				outdated = append(outdated, job)
			}
		case jobstatus.OutcomeOf(job).Phase == jobstatus.Complete:
			succeeded.Add(int32(i))
		}
	}
	for _, part := range s.Failures.Templates {
		s.Restarts += int64(part.Restarts)
	}
	s.Succeeded = indexset.TextOf(succeeded.Set())
	switch n := succeeded.Set().Len(); {
	case s.Failures.Phase == group.Failed:
		s.Phase = Failed
	case s.Failures.Phase == group.Complete || n == len(members):
		s.Phase = Succeeded
	case s.Failures.Phase == group.Suspended:
		s.Phase = Suspended
	case n+left == len(members):
		s.Phase, s.Message = Failed, fmt.Sprintf("%d of %d Jobs are left failed", left, len(members))
	}
	return s, outdated, nil
}

// check checks what the schema cannot.
func (g *JobGroup) check() (errs field.ErrorList) {
	var members []group.Member
	for _, m := range g.members() {
		members = append(members, m.Member)
	}
	path := field.NewPath("spec")
	for i, t := range g.Spec.Jobs {
		at := path.Child("jobs").Index(i).Child("podFailurePolicy")
		errs = append(errs, validation.RuleNames(t.PodFailurePolicy, at)...)
	}
	return append(errs, g.Spec.FailurePolicy.Check(members, path.Child("failurePolicy"))...)
}
