package explain_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

func ExampleOf() {
	suspend := true
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}
	job.Spec.Suspend = &suspend

	d, _ := decide.Job(decide.Snapshot{Job: job, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)})
	why := explain.Of(d)
	fmt.Println(why.Job().Code)
	fmt.Println(why.Prospect().Text)
	// Output:
	// Suspended
	// yes: 1 of 1 pod to go; once it is resumed; at most 6 failures, 0 so far
}
