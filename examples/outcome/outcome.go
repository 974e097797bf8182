// Package outcome describes the outcome of a Job in one line, from its status alone, for a
// dashboard, a workflow engine or a command.
package outcome

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
)

// Of returns the line. It does not depend on the order of the conditions, and ignores
// conditions that are not True.
func Of(job *batchv1.Job) string {
	outcome := jobstatus.OutcomeOf(job)
	parts := []string{string(outcome.Phase)}
	if outcome.Decided() {
		parts = append(parts, cause(outcome))
	}
	if n := job.Spec.Completions; n != nil {
		parts = append(parts, fmt.Sprintf("%d of %d finished", jobstatus.IndexesFinished(job), *n))
	}
	if failed := jobstatus.Indexes(job).Failed; !failed.IsEmpty() {
		parts = append(parts, "failed indexes "+failed.String())
	}
	// A Job whose end is decided may still have pods.
	if held := jobstatus.PodsHeld(job); held > 0 {
		parts = append(parts, fmt.Sprintf("holds %d pods", held))
	}
	return strings.Join(parts, ", ")
}

// cause says why a Job ends. A reason may name the rule of the pod failure policy that
// matched (KEP-4443).
func cause(o jobstatus.Outcome) string {
	rule, ok := failurepolicy.RuleOf(o.Reason, o.Message)
	switch {
	case ok && rule.Index >= 0:
		return fmt.Sprintf("by rule %d", rule.Index)
	case ok && rule.Name != "":
		return "by the rule " + rule.Name
	case ok:
		return "by a rule of the pod failure policy"
	}
	return o.Reason
}
