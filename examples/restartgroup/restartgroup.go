// Package restartgroup manages a group of Jobs, as JobSet does. When a Job fails, the name of
// the rule that failed it decides what happens to the group: both user stories of KEP-4443.
//
// The Job API of Kubernetes has no names for the rules of a pod failure policy yet. A
// framework that runs the Jobs with jobfate passes the names to it (jobfate.RuleNames), and
// reads them from the reason of the Job's condition.
package restartgroup

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

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

// Group is a policy, and the number of restarts so far.
type Group struct {
	Rules       []Rule
	MaxRestarts int
	Restarts    int
}

// Verdict is the decision about a group.
type Verdict struct {
	Action Action
	// Restart are the Jobs to delete and create again. With RestartGroup these are all Jobs.
	// With RestartJob, a Job that still has pods is omitted: call Decide again when the Job
	// has ended. Delete the Jobs in the foreground: then a Job is not gone before its pods.
	Restart []*batchv1.Job
	// Job, Reason and Message describe the failure that decided.
	Job     string
	Reason  string
	Message string
}

// Decide returns what to do with the Jobs of a group. The first rule that has the reason of a
// failure gives the action. If there are several failures, the one with the strongest action
// decides.
func (g Group) Decide(jobs []*batchv1.Job) Verdict {
	var strongest Verdict
	var restart []*batchv1.Job
	for _, job := range jobs {
		outcome := jobstatus.OutcomeOf(job)
		if outcome.Phase != jobstatus.Failed && outcome.Phase != jobstatus.Failing {
			continue
		}
		v := Verdict{Action: g.action(outcome.Reason), Job: job.Name, Reason: outcome.Reason, Message: outcome.Message}
		// The group can fail as soon as the Job's failure is decided. A restart must wait
		// until the Job has ended and has no pods.
		if v.Action == RestartJob && outcome.Terminal() {
			restart = append(restart, job)
		}
		if cmp.Compare(v.Action, strongest.Action) > 0 {
			strongest = v
		}
	}
	if strongest.Action == RestartJob {
		strongest.Restart = restart
	}
	if strongest.Action == RestartGroup {
		strongest.Restart = slices.Clone(jobs)
	}
	if strongest.Restart != nil && g.Restarts >= g.MaxRestarts {
		strongest.Action, strongest.Restart = FailGroup, nil
	}
	return strongest
}

func (g Group) action(reason string) Action {
	for _, rule := range g.Rules {
		if slices.Contains(rule.Reasons, reason) {
			return rule.Action
		}
	}
	return RestartGroup
}
