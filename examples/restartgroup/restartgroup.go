// Package restartgroup manages a group of Jobs, as JobSet does. When one of them
// fails, the name of the rule that failed it decides what becomes of the group:
// KEP-4443, both user stories.
//
// A rule of a pod failure policy has a name here, which the Job API of Kubernetes
// does not have yet. A framework that runs the Jobs with jobfate hands the names to
// it (jobfate.RuleNames), and reads them in the reason of the Job's condition.
package restartgroup

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Action is what is done about a Job that has failed, the weakest first.
type Action int

const (
	// Nothing is to be done: no Job has failed.
	Nothing Action = iota
	// FailJob leaves the Job failed, and the others run on.
	FailJob
	// RestartJob deletes the Job and creates it again.
	RestartJob
	// RestartGroup does so with all Jobs. It is what is done when no rule says
	// otherwise.
	RestartGroup
	// FailGroup fails the group at once, and no Job is restarted any more.
	FailGroup
)

// String names the action.
func (a Action) String() string {
	return [...]string{"Nothing", "FailJob", "RestartJob", "RestartGroup", "FailGroup"}[a]
}

// Rule says what to do about Jobs that fail for one of the reasons. A reason is
// that of the condition: PodFailurePolicy_{rule name}, for one.
type Rule struct {
	Action  Action
	Reasons []string
}

// Group is a policy, and how often something has been restarted.
type Group struct {
	Rules       []Rule
	MaxRestarts int
	Restarts    int
}

// Verdict is what to do now.
type Verdict struct {
	Action Action
	// Restart are the Jobs to delete and create again. With RestartJob a Job whose
	// pods are not all gone is not among them: it is to be looked at again when it
	// has ended. With RestartGroup all are, and are to be deleted in the foreground:
	// then they are gone when their pods are.
	Restart []*batchv1.Job
	// Job, Reason and Message say which failure it was, and how it came about.
	Job     string
	Reason  string
	Message string
}

// Decide returns what is to be done about the Jobs of a group. Of several failures
// the one with the strongest action decides. The first rule that has the reason of
// a failure says what the action is.
func (g Group) Decide(jobs []*batchv1.Job) Verdict {
	var strongest Verdict
	var restart []*batchv1.Job
	for _, job := range jobs {
		outcome := jobstatus.OutcomeOf(job)
		if outcome.Phase != jobstatus.Failed && outcome.Phase != jobstatus.Failing {
			continue
		}
		v := Verdict{Action: g.action(outcome.Reason), Job: job.Name, Reason: outcome.Reason, Message: outcome.Message}
		// That the group fails is known as soon as the Job's failure is decided. To
		// restart it one has to wait until it has ended and left no pod behind.
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
