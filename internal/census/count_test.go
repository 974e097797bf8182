package census_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking/counting"
)

// job returns a Job with the spec and the lists of a world.
func (w world) job() *batchv1.Job {
	job := NewJob()
	if w.Indexed {
		job.Spec.CompletionMode, job.Spec.Completions = new(batchv1.IndexedCompletion), &w.Completions
	}
	if w.PerIndex {
		job.Spec.BackoffLimitPerIndex = &w.Limit
	}
	if w.ReplaceFailedOnly {
		job.Spec.PodReplacementPolicy = new(batchv1.Failed)
	}
	if w.WithPolicy {
		job.Spec.PodFailurePolicy = ExitCodePolicy()
	}
	job.Status.UncountedTerminatedPods = Lists(w.Succeeded, w.Failed)
	return job
}

// Count, which reads all pods, takes the same step as a census.
func TestRandom_count(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		job := w.job()
		if ending := rapid.SampledFrom([]batchv1.JobConditionType{"", "", batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget}).Draw(t, "ending"); ending != "" {
			job.Status.Conditions = []batchv1.JobCondition{Yes(ending)}
		}
		if OneIn(t, 5, "deleting") {
			job.DeletionTimestamp = new(After(0))
		}
		completed, failed := drawSet(t, "completed"), drawSet(t, "failed")
		job.Status.CompletedIndexes, job.Status.FailedIndexes = completed.String(), new(failed.String())

		c := take(classifierOf(job), w.Pods...)
		results := c.IndexResults(jobstatus.ReadIndexes(&job.Status, w.Completions))
		want := c.Account(classify.AccountInputs{
			Ending:       lifecycle.EndOf(&lifecycle.Inputs{Conditions: job.Status.Conditions}).Interim,
			Deleting:     job.DeletionTimestamp != nil,
			KeepFailsJob: c.FailsJob() != nil,
			Counted:      c.Counted(),
		})
		got := counting.Count(job, rapid.Permutation(w.Pods).Draw(t, "in any order"), names)
		Same(t, "strip", UIDsOf(got.Strip), UIDsOf(want.Strip))
		Same(t, "full", got.Full, want.Full)
		Same(t, "lists", got.Status.UncountedTerminatedPods, want.Lists)
		Same(t, "failed", got.Status.Failed, want.Failed)
		if w.Indexed {
			Same(t, "completed", got.Status.CompletedIndexes, results.Completed.String())
		} else {
			Same(t, "succeeded", got.Status.Succeeded, want.Succeeded)
		}
		if w.Indexed && w.PerIndex {
			Same(t, "failed indexes", *got.Status.FailedIndexes, results.Failed.String())
		}
		gone := UIDsOf(want.Strip)
		gone = gone[:rapid.IntRange(0, len(gone)).Draw(t, "gone")]
		Same(t, "settled", got.Settle(gone...).UncountedTerminatedPods, want.Settle(gone).Lists)
	})
}
