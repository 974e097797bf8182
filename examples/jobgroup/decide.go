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

// plan is what to do about a group. The status is stored first, and alone says
// what is to go and what to come. So the rest may be done late, in part or twice.
type plan struct {
	status Status
	remove []*batchv1.Job
	create []member
}

// decide makes the plan for a group and those of its Jobs that are there. It does
// nothing else, and changes neither.
func decide(group *JobGroup, jobs []*batchv1.Job) plan {
	p := plan{status: judge(group, jobs)}
	there := make(map[string]bool, len(jobs))
	waits := make(map[int]bool) // restarts whose old Jobs are not all gone
	for _, job := range jobs {
		there[job.Name] = true
		past := p.status.past(job)
		if past {
			waits[p.status.Restarted[job.Name]] = true
		}
		useless := p.status.Phase == Failed && !jobstatus.OutcomeOf(job).Decided()
		if (past || useless) && job.DeletionTimestamp == nil {
			p.remove = append(p.remove, job)
		}
	}
	for _, m := range group.members() {
		if !p.status.ended() && !there[m.name] && !waits[p.status.Restarted[m.name]] {
			p.create = append(p.create, m)
		}
	}
	return p
}

// past reports whether a Job was made before its last restart.
func (s Status) past(job *batchv1.Job) bool { return madeAt(job) < s.Restarted[job.Name] }

// failure is a Job that has failed or is about to, and what is to be done about it.
type failure struct {
	jobstatus.Outcome
	job    string
	action Action
}

func (f failure) String() string {
	return fmt.Sprintf("Job %s failed: %s: %s", f.job, f.Reason, f.Message)
}

// judge returns the status that follows from the present one.
func judge(group *JobGroup, jobs []*batchv1.Job) Status {
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
		if s.past(job) || job.DeletionTimestamp != nil {
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
	case slices.ContainsFunc(jobs, s.past):
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

// after returns the status after failures: what they restart, or that the group
// has failed. Of several the one with the strongest action decides.
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
		// A Job that is failing still has pods.
		if f.action == RestartJob && f.Terminal() && !s.ended() {
			s = s.restart(f, group, f.job)
		}
	}
	return s
}

// restart counts a restart of some Jobs. The group fails when there were too many.
func (s Status) restart(f failure, group *JobGroup, jobs ...string) Status {
	most := group.Spec.FailurePolicy.MaxRestarts
	if s.Restarts >= most {
		return s.fail(fmt.Sprintf("after %d restarts, the most allowed: %s", s.Restarts, f))
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

// templateOf returns the name of the template that a Job is made of.
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
		if rule.targets(template) && slices.ContainsFunc(rule.OnJobFailureReasons, func(r string) bool { return covers(r, reason) }) {
			return rule.Action
		}
	}
	return RestartGroup
}

// covers reports whether the reason in a rule stands for that of a condition. The
// plain PodFailurePolicy stands for all rules of pod failure policies.
func covers(wanted, reason string) bool {
	_, byRule := failurepolicy.RuleOf(reason, "")
	return wanted == reason || wanted == batchv1.JobReasonPodFailurePolicy && byRule
}

// check looks at what the schema cannot say: that names make good reasons, that there
// are the Jobs that a rule of the group targets, and that a reason with the name of a
// rule has such a rule in one of them. It would never come otherwise.
func check(spec *Spec) error {
	var errs field.ErrorList
	path := field.NewPath("spec")
	for i, t := range spec.Jobs {
		errs = append(errs, validation.RuleNames(t.Spec.PodFailurePolicy, path.Child("jobs").Index(i).Child("spec", "podFailurePolicy"))...)
	}
	for i, rule := range spec.FailurePolicy.Rules {
		for j, target := range rule.TargetReplicatedJobs {
			if !slices.ContainsFunc(spec.Jobs, func(t Template) bool { return t.Name == target }) {
				errs = append(errs, field.NotFound(path.Child("failurePolicy", "rules").Index(i).Child("targetReplicatedJobs").Index(j), target))
			}
		}
		for j, reason := range rule.OnJobFailureReasons {
			ref, byRule := failurepolicy.RuleOf(reason, "")
			if byRule && ref.Name != "" && !spec.hasRule(&rule, reason) {
				errs = append(errs, field.NotFound(path.Child("failurePolicy", "rules").Index(i).Child("onJobFailureReasons").Index(j), reason))
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
