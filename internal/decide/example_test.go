package decide_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/decide"
)

// The same plan is closed twice: once with a creation that succeeds, once with one that
// fails.
func ExampleDecide() {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "job-uid"}}
	in := decide.Input{Job: job, Now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}

	o, _ := decide.Decide(in, decide.DefaultConfig())
	fmt.Println(len(o.Plan.Work.Create), "to create, then", o.Status.Active, "active")
	failed := o.Close(decide.Done{NotCreated: 1})
	fmt.Println("or", failed.Status.Active, "active")
	// Output:
	// 1 to create, then 1 active
	// or 0 active
}
