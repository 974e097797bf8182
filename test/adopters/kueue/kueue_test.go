package kueue_test

import (
	"context"
	"fmt"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueue "sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/jobfate/jobfate/examples/replace"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/adopters"
)

//go:linkname terminalIndexesCount sigs.k8s.io/kueue/pkg/controller/jobs/job.terminalIndexesCount
func terminalIndexesCount(log logr.Logger, completed, failed string, completions int32) int32

var quiet = logr.NewContext(context.Background(), logr.Discard())

func indexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

func failedIndexes(job *batchv1.Job) string {
	if job.Status.FailedIndexes == nil {
		return ""
	}
	return *job.Status.FailedIndexes
}

func TestFunctions(t *testing.T) {
	adopters.Compare(t, []adopters.Function{
		{
			Name:    "terminalIndexesCount",
			Applies: indexed,
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
			Ours: func(job *batchv1.Job) string { return fmt.Sprint(replace.Reclaimable(job)) },
			Classes: []adopters.Class{
				{Name: "end decided", Holds: func(job *batchv1.Job) bool { return jobstatus.OutcomeOf(job).Decided() }},
				{Name: "being deleted", Holds: func(job *batchv1.Job) bool { return job.DeletionTimestamp != nil }},
				{Name: "suspended", Holds: func(job *batchv1.Job) bool {
					return job.Spec.Suspend != nil && *job.Spec.Suspend || jobstatus.OutcomeOf(job).Phase == jobstatus.Suspended
				}},
				{Name: "fewer completions than parallelism", Holds: func(job *batchv1.Job) bool {
					return job.Spec.Completions != nil && *job.Spec.Completions < *job.Spec.Parallelism
				}},
				{Name: "scaled-down work queue", Holds: func(job *batchv1.Job) bool {
					return job.Spec.Completions == nil && job.Status.Active > *job.Spec.Parallelism-job.Status.Succeeded
				}},
				{Name: "pods beyond the indexes", Holds: func(job *batchv1.Job) bool {
					if job.Spec.Completions == nil || job.Status.FailedIndexes == nil {
						return false
					}
					completed, _ := indexset.ParseDamaged(job.Status.CompletedIndexes, *job.Spec.Completions)
					failed, _ := indexset.ParseDamaged(*job.Status.FailedIndexes, *job.Spec.Completions)
					return int(job.Status.Active) > int(*job.Spec.Completions)-completed.Len()-failed.Len()
				}},
				{Name: "terminating pods", Holds: func(job *batchv1.Job) bool { return job.Status.Terminating != nil && *job.Status.Terminating > 0 }},
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
				o := jobstatus.OutcomeOf(job)
				if !o.Terminal() {
					return ""
				}
				return fmt.Sprint(o.Phase == jobstatus.Complete, o.Message)
			},
			Classes: []adopters.Class{adopters.Contradictory},
		},
	})
}

// A Job with parallelism 8 and completions 4 has a PodSet of 4 pods. After its first success Kueue
// reclaims all of them, with three pods still running.
func TestFewerCompletionsThanParallelism(t *testing.T) {
	job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(8)), Completions: new(int32(4))}, Status: batchv1.JobStatus{Active: 3, Succeeded: 1}}
	sets, err := (*kueue.Job)(job).PodSets(quiet, nil)
	if err != nil || len(sets) != 1 {
		t.Fatal(sets, err)
	}
	reclaimable, err := (*kueue.Job)(job).ReclaimablePods(quiet, nil)
	if err != nil || len(reclaimable) != 1 {
		t.Fatal(reclaimable, err)
	}
	reclaimable = workload.LimitReclaimablePodsToPodSetSizes(&v1beta2.Workload{Spec: v1beta2.WorkloadSpec{PodSets: sets}}, reclaimable)
	if kept := sets[0].Count - reclaimable[0].Count; kept != 0 {
		t.Errorf("Kueue keeps quota for %d pods, want 0", kept)
	}
	if kept := replace.Reserved(job) - replace.Reclaimable(job); kept != 3 {
		t.Errorf("jobfate keeps quota for %d pods, want 3", kept)
	}
}
