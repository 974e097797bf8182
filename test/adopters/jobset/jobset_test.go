package jobset_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"

	"github.com/jobfate/jobfate/examples/replace"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/adopters"
)

//go:linkname findJobFailureCondition sigs.k8s.io/jobset/pkg/controllers.findJobFailureCondition
func findJobFailureCondition(job *batchv1.Job) *batchv1.JobCondition

//go:linkname ruleIsApplicable sigs.k8s.io/jobset/pkg/controllers.ruleIsApplicable
func ruleIsApplicable(ctx context.Context, rule v1alpha2.FailurePolicyRule, job *batchv1.Job, reason, message string) bool

var quiet = logr.NewContext(context.Background(), logr.Discard())

// lists has the reasons of rules. A drawn Job has one of these reasons, or one that names a rule.
var lists = [][]string{nil, {"BackoffLimitExceeded"}, {"PodFailurePolicy"}, {"DeadlineExceeded", "PodFailurePolicy"}}

func TestFunctions(t *testing.T) {
	adopters.Compare(t, []adopters.Function{
		{
			Name: "JobFinished",
			Theirs: func(job *batchv1.Job) string {
				_, how := controllers.JobFinished(job)
				return string(how)
			},
			Ours:    adopters.Ended,
			Classes: []adopters.Class{adopters.Contradictory},
		},
		{
			Name: "findJobFailureCondition",
			Theirs: func(job *batchv1.Job) string {
				if c := findJobFailureCondition(job); c != nil {
					return fmt.Sprint(c.Reason, c.Message, c.LastTransitionTime.Time)
				}
				return ""
			},
			Ours: func(job *batchv1.Job) string {
				if o := jobstatus.OutcomeOf(job); o.Phase == jobstatus.Failed {
					return fmt.Sprint(o.Reason, o.Message, o.Since)
				}
				return ""
			},
		},
		{
			Name: "ruleIsApplicable",
			Theirs: func(job *batchv1.Job) (matches string) {
				c := findJobFailureCondition(job)
				if c == nil {
					return ""
				}
				labelled := *job
				labelled.Labels = map[string]string{v1alpha2.ReplicatedJobNameKey: "workers"}
				for _, list := range lists {
					rule := v1alpha2.FailurePolicyRule{OnJobFailureReasons: list}
					matches += fmt.Sprintln(list, ruleIsApplicable(quiet, rule, &labelled, c.Reason, c.Message))
				}
				return matches
			},
			Ours: func(job *batchv1.Job) (matches string) {
				if findJobFailureCondition(job) == nil {
					return ""
				}
				for _, list := range lists {
					matches += fmt.Sprintln(list, replace.FailedFor(job, list...))
				}
				return matches
			},
			Classes: []adopters.Class{{Name: "reason that names a rule", Holds: func(job *batchv1.Job) bool {
				return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
					return c.Type == batchv1.JobFailed && c.Reason == "PodFailurePolicy_ExitCode42"
				})
			}}},
		},
	})
}
