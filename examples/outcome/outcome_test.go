package outcome_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/examples/outcome"
)

// A Job of four indexes at several points of its life.
func ExampleOf() {
	four, indexed, terminating := int32(4), batchv1.IndexedCompletion, int32(1)
	failed := "3"
	job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: &four, CompletionMode: &indexed}}
	fmt.Println(outcome.Of(job))

	// A condition that is not True is ignored, even if it comes first.
	job.Status = batchv1.JobStatus{
		Active: 2, CompletedIndexes: "0,1",
		Conditions: []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "JobResumed"}},
	}
	fmt.Println(outcome.Of(job))

	// The end is decided, and a pod is still terminating.
	end := func(t batchv1.JobConditionType) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy_OutOfLicences"})
	}
	end(batchv1.JobFailureTarget)
	job.Status.Active, job.Status.Terminating, job.Status.FailedIndexes = 0, &terminating, &failed
	fmt.Println(outcome.Of(job))

	end(batchv1.JobFailed)
	job.Status.Terminating = nil
	fmt.Println(outcome.Of(job))
	// Output:
	// Running, 0 of 4 finished
	// Running, 2 of 4 finished, holds 2 pods
	// Failing, by the rule OutOfLicences, 3 of 4 finished, failed indexes 3, holds 1 pods
	// Failed, by the rule OutOfLicences, 3 of 4 finished, failed indexes 3
}
