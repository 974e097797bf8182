package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

// plan is the status of a group to store, and the Jobs to remove and create afterwards. The
// Jobs depend on that status only, so it is safe to remove and create them late, in part or
// twice.
type plan struct {
	status Status
	remove []*batchv1.Job
	create []member
}

// decide returns the plan for a group and its existing Jobs. It does no I/O, and does not change
// its arguments.
func decide(group *JobGroup, jobs []*batchv1.Job) plan {
	p := plan{status: nextStatus(group, jobs)}
	exists := make(map[string]bool, len(jobs))
	waits := make(map[int]bool) // restarts whose old Jobs are not all gone
	for _, job := range jobs {
		exists[job.Name] = true
		outdated := p.status.outdated(job)
		if outdated {
			waits[p.status.Restarted[job.Name]] = true
		}
		useless := p.status.Phase == Failed && !jobstatus.OutcomeOf(job).Decided()
		if (outdated || useless) && job.DeletionTimestamp == nil {
			p.remove = append(p.remove, job)
		}
	}
	for _, m := range group.members() {
		if !p.status.ended() && !exists[m.name] && !waits[p.status.Restarted[m.name]] {
			p.create = append(p.create, m)
		}
	}
	return p
}

// outdated reports whether a Job dates from before its last restart.
func (s Status) outdated(job *batchv1.Job) bool { return madeAt(job) < s.Restarted[job.Name] }

// failure is a Job that has failed or is failing, and the action for it.
type failure struct {
	jobstatus.Outcome
	job    string
	action Action
}

func (f failure) String() string {
	return fmt.Sprintf("Job %s failed: %s: %s", f.job, f.Reason, f.Message)
}

// nextStatus returns the status that follows from the current one.
func nextStatus(group *JobGroup, jobs []*batchv1.Job) Status {
	s := group.Status
	if s.ended() {
		return s
	}
	if err := check(&group.Spec); err != nil {
		return s.fail(err.Error())
	}
	var failures []failure
	succeeded, left := 0, 0
	members := group.members()
	for _, job := range jobs {
		if s.outdated(job) || job.DeletionTimestamp != nil {
			continue
		}
		switch outcome := jobstatus.OutcomeOf(job); outcome.Phase {
		case jobstatus.Complete:
			succeeded++
		case jobstatus.Failing, jobstatus.Failed:
			f := failure{outcome, job.Name, group.Spec.FailurePolicy.action(templateOf(members, job), outcome.Reason)}
			failures = append(failures, f)
			if f.action == FailJob && f.Terminal() {
				left++
			}
		}
	}
	slices.SortFunc(failures, func(a, b failure) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.job, b.job))
	})
	s = s.after(failures, group)
	switch all := len(members); {
	case s.ended():
		return s
	case slices.ContainsFunc(jobs, s.outdated):
		s.Phase = Restarting
	case succeeded == all:
		s.Phase, s.Message = Succeeded, ""
	case succeeded+left == all:
		return s.fail(fmt.Sprintf("%d of %d Jobs are left failed: %s", left, all, failures[0]))
	default:
		s.Phase = Running
	}
	return s
}

func (s Status) fail(message string) Status {
	s.Phase, s.Message = Failed, message
	return s
}

// after returns the status after failures: it counts restarts, or fails the group. If there are
// several failures, the one with the strongest action decides.
func (s Status) after(failures []failure, group *JobGroup) Status {
	with := func(a Action) int {
		return slices.IndexFunc(failures, func(f failure) bool { return f.action == a })
	}
	if i := with(FailGroup); i >= 0 {
		return s.fail(failures[i].String())
	}
	if i := with(RestartGroup); i >= 0 {
		var all []string
		for _, m := range group.members() {
			all = append(all, m.name)
		}
		return s.restart(failures[i], group, all...)
	}
	for _, f := range failures {
		// A Job that is failing may still have pods.
		if f.action == RestartJob && f.Terminal() && !s.ended() {
			s = s.restart(f, group, f.job)
		}
	}
	return s
}

// restart counts a restart of some Jobs. If no restarts are left, the group fails.
func (s Status) restart(f failure, group *JobGroup, jobs ...string) Status {
	most := group.Spec.FailurePolicy.MaxRestarts
	if s.Restarts >= most {
		return s.fail(fmt.Sprintf("all %d restarts are used up: %s", s.Restarts, f))
	}
	s.Restarts++
	s.Message = fmt.Sprintf("restart %d of %d: %s", s.Restarts, most, f)
	restarted := make(map[string]int, len(jobs))
	maps.Copy(restarted, s.Restarted)
	for _, name := range jobs {
		restarted[name] = s.Restarts
	}
	s.Restarted = restarted
	return s
}

// templateOf returns the name of the template that a Job was created from.
func templateOf(members []member, job *batchv1.Job) string {
	for _, m := range members {
		if m.name == job.Name {
			return m.template.Name
		}
	}
	return ""
}

// action returns what to do about a Job of a template that failed for a reason.
func (p FailurePolicy) action(template, reason string) Action {
	for _, rule := range p.Rules {
		if rule.targets(template) && slices.ContainsFunc(rule.OnJobFailureReasons,
			func(r string) bool { return covers(r, reason) }) {
			return rule.Action
		}
	}
	return RestartGroup
}

// covers reports whether the reason in a rule matches that of a condition. The plain
// PodFailurePolicy matches all rules of pod failure policies.
func covers(wanted, reason string) bool {
	_, byRule := failurepolicy.RuleOf(reason, "")
	return wanted == reason || wanted == batchv1.JobReasonPodFailurePolicy && byRule
}

// check checks what the schema cannot. The names of rules must make valid reasons. The Jobs that a
// rule of the group targets must exist, and if a reason names a rule, one of them must have it.
func check(spec *Spec) error {
	var errs field.ErrorList
	path := field.NewPath("spec")
	for i, t := range spec.Jobs {
		errs = append(errs, validation.RuleNames(t.Spec.PodFailurePolicy,
			path.Child("jobs").Index(i).Child("spec", "podFailurePolicy"))...)
	}
	for i, rule := range spec.FailurePolicy.Rules {
		for j, target := range rule.TargetReplicatedJobs {
			if !slices.ContainsFunc(spec.Jobs, func(t Template) bool { return t.Name == target }) {
				errs = append(errs, field.NotFound(path.Child("failurePolicy", "rules").Index(i).
					Child("targetReplicatedJobs").Index(j), target))
			}
		}
		for j, reason := range rule.OnJobFailureReasons {
			ref, byRule := failurepolicy.RuleOf(reason, "")
			if byRule && ref.Name != "" && !spec.hasRule(&rule, reason) {
				errs = append(errs, field.NotFound(path.Child("failurePolicy", "rules").Index(i).
					Child("onJobFailureReasons").Index(j), reason))
			}
		}
	}
	return errs.ToAggregate()
}

// hasRule reports whether a Job that a rule of the group targets can fail for a reason.
func (s *Spec) hasRule(rule *Rule, reason string) bool {
	return slices.ContainsFunc(s.Jobs, func(t Template) bool {
		_, found := t.Spec.PodFailurePolicy.Find(reason, "")
		return found && rule.targets(t.Name)
	})
}
