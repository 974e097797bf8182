package replace_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/examples/replace"
)

// One of three indexes is completed, one has failed for good, and one runs.
func ExampleReclaimable() {
	job := indexed(sized(3, 3, batchv1.JobStatus{Active: 1, Succeeded: 1, Failed: 1}), "0", "1")
	fmt.Println("reserved", replace.Reserved(job), "reclaimable", replace.Reclaimable(job))
	// Output: reserved 3 reclaimable 2
}

// A pod with restartPolicy OnFailure has used up the limit of 3 in place: one pod has failed.
func ExampleReady() {
	job := sized(1, 1, batchv1.JobStatus{Failed: 1, Conditions: []batchv1.JobCondition{{
		Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue,
		Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit",
	}}})
	fmt.Println(replace.Ready(job))
	// Output: false job default/job failed: BackoffLimitExceeded: Job has reached the specified backoff limit
}

// Another cluster reports that it started one second earlier.
func ExampleCheckStatus() {
	start := metav1.Date(2026, time.January, 23, 2, 31, 44, 0, time.UTC)
	job := sized(3, 3, batchv1.JobStatus{Active: 3, StartTime: &start})
	earlier := metav1.NewTime(start.Add(-time.Second))
	fmt.Println(replace.CheckStatus(job, &batchv1.JobStatus{Active: 3, StartTime: &earlier}))
	fmt.Println(replace.CheckStatus(job, &batchv1.JobStatus{Active: 2, StartTime: &start}))
	// Output:
	// status.startTime: Invalid value: "2026-01-23T02:31:43Z": field is immutable for unsuspended job once set
	// <nil>
}
