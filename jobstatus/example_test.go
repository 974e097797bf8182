package jobstatus_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// The outcome of a Job, read from its conditions.
func Example() {
	job := &batchv1.Job{}
	report := func() {
		o := jobstatus.OutcomeOf(job)
		fmt.Printf("%s %q decided=%v terminal=%v\n", o.Phase, o.Reason, o.Decided(), o.Terminal())
	}
	report()

	job.Status.Conditions = []batchv1.JobCondition{
		{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "JobResumed"},
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"},
	}
	report()

	job.Status.Conditions = append(job.Status.Conditions,
		batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"})
	report()
	// Output:
	// Running "" decided=false terminal=false
	// Failing "BackoffLimitExceeded" decided=true terminal=false
	// Failed "BackoffLimitExceeded" decided=true terminal=true
}

// The indexes to run again.
func ExampleIndexes() {
	completions, indexed, failed := int32(10), batchv1.IndexedCompletion, "7"
	job := &batchv1.Job{
		Spec:   batchv1.JobSpec{Completions: &completions, CompletionMode: &indexed},
		Status: batchv1.JobStatus{CompletedIndexes: "0-4,8", FailedIndexes: &failed},
	}
	sets := jobstatus.Indexes(job)
	fmt.Println("failed:", sets.Failed)
	fmt.Println("never run:", sets.Unfinished)
	// Output:
	// failed: 7
	// never run: 5,6,9
}
