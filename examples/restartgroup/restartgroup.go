// Package restartgroup restarts or fails a group of Jobs. When a Job fails, the name of the rule
// that failed it decides what happens to the group: both user stories of KEP-4443.
//
// The Job API of Kubernetes has no names for the rules of a pod failure policy yet. A
// framework that runs the Jobs with jobfate passes the names to it (jobfate.RuleNames), and
// reads them from the reason of the Job's condition. The rules here are not those of JobSet.
package restartgroup

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobstatus"
)

// Action is the response to a failed Job. The constants begin with the weakest.
type Action int

const (
	// Nothing means that no Job has failed.
	Nothing Action = iota
	// FailJob leaves the Job failed, and the other Jobs continue.
	FailJob
	// RestartJob deletes the Job and creates it again.
	RestartJob
	// RestartGroup deletes all Jobs and creates them again. It is the default if no rule
	// matches.
	RestartGroup
	// FailGroup fails the group at once. No Job is restarted afterwards.
	FailGroup
)

// String names the action.
func (a Action) String() string {
	return [...]string{"Nothing", "FailJob", "RestartJob", "RestartGroup", "FailGroup"}[a]
}

// Rule is the action for Jobs that fail with one of the reasons. A reason is the reason of the
// condition Failed, for example PodFailurePolicy_{rule name}.
type Rule struct {
	Action  Action
	Reasons []string
}

// Group is a policy, and what has been decided so far.
type Group struct {
	Rules []Rule
	// MaxRestarts is the budget. The restart of a Job takes one unit, and so does that of the
	// group.
	MaxRestarts int
	State
}

// State outlives a decision. Store it with the group.
type State struct {
	// Restarts is the number of units that are used up.
	Restarts int
	// Replaced lists the Jobs to delete and create again, by UID, also when they are gone: a Job
	// that a stale cache shows again does not count again. It has at most MaxRestarts times the
	// number of Jobs.
	Replaced []types.UID
}

// Verdict is the decision about a group. Store State before you delete a Job: if the process then
// stops, the next decision returns the same Jobs, and nothing is counted twice.
type Verdict struct {
	Action Action
	State  State
	// Restart lists the Jobs to delete and create again: all Jobs if the group is restarted, and
	// those of earlier decisions that still exist. With RestartJob, a Job that still has pods is
	// omitted: call Decide again when the Job has ended. Delete the Jobs by UID and in the
	// foreground: then a Job is not gone before its pods.
	Restart []*batchv1.Job
	// Job, Reason and Message describe the failure that decided.
	Job     string
	Reason  string
	Message string
}

// Decide returns what to do with the Jobs of a group. The first rule that has the reason of a
// failure gives the action. If there are several failures, the one with the strongest action
// decides. If the budget does not suffice for all restarts, the group fails.
func (g Group) Decide(jobs []*batchv1.Job) Verdict {
	v := Verdict{State: g.State}
	var alone, ended []*batchv1.Job // to restart on their own
	for _, job := range jobs {
		if slices.Contains(g.Replaced, job.UID) {
			v.Restart = append(v.Restart, job)
			continue
		}
		outcome := jobstatus.OutcomeOf(job)
		if outcome.Phase != jobstatus.Failed && outcome.Phase != jobstatus.Failing {
			continue
		}
		action := g.action(outcome.Reason)
		if action == RestartJob {
			alone = append(alone, job)
			// A Job that is failing may still have pods.
			if outcome.Terminal() {
				ended = append(ended, job)
			}
		}
		if action > v.Action {
			v.Action, v.Job, v.Reason, v.Message = action, job.Name, outcome.Reason, outcome.Message
		}
	}
	left := g.MaxRestarts - g.Restarts
	switch {
	case v.Action == RestartJob && len(alone) <= left:
		v.State = g.replace(ended, len(ended))
		v.Restart = append(v.Restart, ended...)
	case v.Action == RestartGroup && left > 0:
		v.State = g.replace(jobs, 1)
		v.Restart = slices.Clone(jobs)
	case v.Action >= RestartJob:
		v.Action, v.Restart = FailGroup, nil
	}
	return v
}

// replace returns the state after a decision to restart Jobs.
func (s State) replace(jobs []*batchv1.Job, units int) State {
	s.Restarts += units
	s.Replaced = slices.Clone(s.Replaced)
	for _, job := range jobs {
		if !slices.Contains(s.Replaced, job.UID) {
			s.Replaced = append(s.Replaced, job.UID)
		}
	}
	return s
}

func (g Group) action(reason string) Action {
	for _, rule := range g.Rules {
		if slices.Contains(rule.Reasons, reason) {
			return rule.Action
		}
	}
	return RestartGroup
}
