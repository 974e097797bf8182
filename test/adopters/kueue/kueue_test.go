package kueue_test

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	kueue "sigs.k8s.io/kueue/pkg/controller/jobs/job"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/adopters"
)

//go:linkname terminalIndexesCount sigs.k8s.io/kueue/pkg/controller/jobs/job.terminalIndexesCount
func terminalIndexesCount(log logr.Logger, completed, failed string, completions int32) int32

var quiet = logr.NewContext(context.Background(), logr.Discard())

func failedIndexes(job *batchv1.Job) string {
	if job.Status.FailedIndexes == nil {
		return ""
	}
	return *job.Status.FailedIndexes
}

func TestFunctions(t *testing.T) {
	adopters.Compare(t, "../../../docs/replace.md", []adopters.Function{
		{
			Name:    "terminalIndexesCount",
			Applies: func(job *batchv1.Job) bool { return jobstatus.IsIndexed(&job.Spec) },
			Theirs: func(job *batchv1.Job) string {
				return fmt.Sprint(terminalIndexesCount(logr.Discard(), job.Status.CompletedIndexes, failedIndexes(job), *job.Spec.Completions))
			},
			Ours: func(job *batchv1.Job) string { return fmt.Sprint(jobstatus.IndexesFinished(job)) },
			Classes: []adopters.Class{{Name: "damaged lists", Holds: func(job *batchv1.Job) bool {
				_, completed := indexset.Parse(job.Status.CompletedIndexes)
				_, failed := indexset.Parse(failedIndexes(job))
				return completed != nil || failed != nil
			}}},
		},
		{
			Name:  "ReclaimablePods",
			Lives: true,
			Rare: []*batchv1.Job{{
				Spec:   batchv1.JobSpec{Parallelism: new(int32(3))},
				Status: batchv1.JobStatus{Active: 4, Succeeded: 1},
			}, {
				Spec: batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(4)), BackoffLimitPerIndex: new(int32(1)),
					CompletionMode: new(batchv1.IndexedCompletion)},
				Status: batchv1.JobStatus{Active: 2, Succeeded: 2, CompletedIndexes: "0,2", FailedIndexes: new("1")},
			}},
			Applies: func(job *batchv1.Job) bool { return !jobstatus.OutcomeOf(job).Terminal() }, // Kueue asks Finished first
			Theirs: func(job *batchv1.Job) string {
				reclaimable, err := (*kueue.Job)(job).ReclaimablePods(quiet, nil)
				switch {
				case err != nil:
					return err.Error()
				case len(reclaimable) == 0:
					return "0"
				}
				return fmt.Sprint(reclaimable[0].Count)
			},
			Ours: func(job *batchv1.Job) string { return fmt.Sprint(jobstatus.Reclaimable(job)) },
			Classes: []adopters.Class{
				{Name: "fewer completions than parallelism", Holds: func(job *batchv1.Job) bool {
					return job.Spec.Completions != nil && *job.Spec.Completions < *job.Spec.Parallelism
				}},
				{Name: "work queue with more pods", Holds: func(job *batchv1.Job) bool {
					return job.Spec.Completions == nil && jobstatus.PodsHeld(job) > *job.Spec.Parallelism-job.Status.Succeeded
				}},
				{Name: "one pod at a time", Holds: func(job *batchv1.Job) bool { return *job.Spec.Parallelism == 1 }},
			},
		},
		{
			Name: "Finished",
			Theirs: func(job *batchv1.Job) string {
				message, success, finished := (*kueue.Job)(job).Finished(quiet)
				if !finished {
					return ""
				}
				return fmt.Sprint(success, message)
			},
			Ours: func(job *batchv1.Job) string {
				if c := jobstatus.Finished(job); c != nil {
					return fmt.Sprint(c.Type == batchv1.JobComplete, c.Message)
				}
				return ""
			},
		},
	})
}
