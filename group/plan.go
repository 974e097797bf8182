package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
)

// Job is a member and its Job.
type Job struct {
	Member
	// Job is nil if it does not exist.
	Job *batchv1.Job
	// Attempt is the attempt that the Job was created for.
	Attempt int64
	// Class is the class of the Job's failure, if the caller gives it one.
	Class string
	// PodFailurePolicy is that of the Job, with the names of its rules, for OnRuleNames: the built-in Job controller
	// does not put the name into the reason. It may be nil.
	PodFailurePolicy *failurepolicy.Spec
}

// Plan is the next step of the caller: to store a state, or to delete and create Jobs. It is complete:
// a caller that only carries out plans follows the protocol of the package comment.
type Plan struct {
	// Decision is about the first open failure, if there is one. State also changes at the end of a
	// suspension, and when all members have ended. If it is Changed, store it in one write that
	// fails on a conflict, and make another plan: nothing is deleted or created before.
	Decision
	// Delete lists Jobs of earlier attempts, and after the end of the group those that still run.
	Delete []Job
	// Create lists the members whose Jobs to create, for the attempt [State.Attempt]. If the state and
	// the Jobs are from a cache, first make the plan again from live reads.
	Create []Member
	// Wait is the time until the next Job may be created, or the group resumed; zero for none.
	Wait time.Duration
	// Restarting says that Jobs of earlier attempts still exist.
	Restarting bool
	// Succeeded lists the members whose Jobs have succeeded, by their position, and Left those that
	// are left failed.
	Succeeded, Left indexset.Set
}

// MakePlan decides with [Decide] about the failed Jobs of a group, and says what follows. jobs has one
// element for each member. The group is complete when all members have succeeded; if instead some of
// them are left failed, it has failed.
//
// Members without a Job get one, so Jobs must not be deleted by others before the group has ended, for
// example by a TTL. The failure of a Job that is being deleted does not count.
//
// The error is one of [NewDecider] or [Decider.Decide], and the plan is then empty. It is an *OldStateError
// too if any Job is of a later attempt than the state has, and the group has not ended.
func MakePlan(policy *Policy, state State, jobs []Job, now time.Time) (Plan, error) {
	next := state
	if !state.Group.notBefore().After(now) {
		next = state.Resume()
	}
	var failures []Failure
	for _, j := range jobs {
		f, failed := FailureOf(j.Job, j.Member, j.Attempt)
		f.Class = j.Class
		if rule, ok := j.PodFailurePolicy.Find(f.Reason, f.Message); ok {
			f.RuleName = cmp.Or(j.PodFailurePolicy.Rules[rule].Name, f.RuleName)
		}
		if failed && j.Job.DeletionTimestamp == nil && next.Phase == "" {
			failures = append(failures, f)
		}
	}
	d, err := Decide(policy, next, failures, now)
	if err != nil {
		d.State = state
		return Plan{Decision: d}, err
	}
	if old := state.later(jobs); old != nil && next.Phase != Complete && next.Phase != Failed {
		return Plan{Decision: Decision{State: state, Rule: -1, Step: -1}}, old
	}
	p := Plan{Decision: d}
	p.Changed = d.Changed || next.Phase != state.Phase
	p.count(jobs)
	if done := p.Succeeded.Len() + p.Left.Len(); !d.Changed && p.State.Phase == "" && done == len(jobs) && done > 0 {
		p.State.Version, p.State.Phase, p.Changed = StateVersion, Complete, true
		if p.Left.Len() > 0 {
			p.State.Phase = Failed
		}
	}
	if !p.Changed {
		p.follow(jobs, now)
	}
	return p, nil
}

// later returns an error about a Job of a later attempt than the state has, or nil.
func (s *State) later(jobs []Job) *OldStateError {
	for _, j := range jobs {
		if attempt := s.Attempt(j.Member); j.Job != nil && j.Attempt > attempt {
			return &OldStateError{Member: j.Member, Attempt: j.Attempt, State: attempt}
		}
	}
	return nil
}

// count counts the Jobs by their outcome.
func (p *Plan) count(jobs []Job) {
	var succeeded, left indexset.Builder
	for i, j := range jobs {
		attempt := p.State.Attempt(j.Member)
		switch {
		case p.State.left(j.Member, attempt):
			left.Add(int32(i))
		case j.Job == nil:
		case j.Attempt < attempt:
			p.Restarting = true
		case has(j.Job, batchv1.JobComplete):
			succeeded.Add(int32(i))
		}
	}
	p.Succeeded, p.Left = succeeded.Set(), left.Set()
}

// follow sets what follows from the state alone.
func (p *Plan) follow(jobs []Job, now time.Time) {
	ended := p.State.Phase == Complete || p.State.Phase == Failed
	for i, j := range jobs {
		wait := p.State.NotBefore(j.Member).Sub(now)
		switch {
		case j.Job != nil:
			old := j.Attempt < p.State.Attempt(j.Member)
			runs := !has(j.Job, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet,
				batchv1.JobFailureTarget)
			if (old || ended && runs) && j.Job.DeletionTimestamp == nil {
				p.Delete = append(p.Delete, j)
			}
		case ended || p.Left.Contains(int32(i)):
		case wait > 0:
			p.Wait = min(wait, cmp.Or(p.Wait, wait))
		case p.State.Phase == "" && !p.Restarting:
			p.Create = append(p.Create, j.Member)
		}
	}
}

// has reports whether one of these conditions of a Job is true.
func has(job *batchv1.Job, types ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(types, c.Type)
	})
}

// Phase says for people what the group does: Running, Restarting while Jobs of earlier attempts exist, or the
// phase of the state.
func (p *Plan) Phase() string {
	if p.State.Phase == "" && p.Restarting {
		return "Restarting"
	}
	return cmp.Or(string(p.State.Phase), "Running")
}

// Message says what has changed, and because of which failure, for a condition or an event. It is empty
// if nothing has.
func (p *Plan) Message() string {
	switch {
	case p.Action != "":
	case !p.Changed:
		return ""
	case p.State.Phase == Failed:
		return fmt.Sprint("members left failed: ", p.Left.Len())
	case p.State.Phase == Complete:
		return "all members have succeeded"
	default:
		return "resumed"
	}
	text := fmt.Sprintf("%s: Job %s failed: %s: %s", p.Action, p.Failure.Name, p.Failure.Reason, p.Failure.Message)
	text = strings.TrimRight(text, ": ") // the message may be empty
	switch {
	case p.Rule < 0:
		return "no rule matches, " + text
	case p.Step < 0:
		return "no step is left, " + text
	}
	return text
}
