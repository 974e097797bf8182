package jobs_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
)

func ExampleOf() {
	now := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	owner := metav1.OwnerReference{UID: "owner", Controller: new(true)}
	failed := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "workers-0", UID: "job", OwnerReferences: []metav1.OwnerReference{owner}}}
	failed.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True",
		Reason: "DeadlineExceeded", LastTransitionTime: metav1.NewTime(now)}}

	policy := &group.Policy{Rules: []group.Rule{{OnReasons: []string{"DeadlineExceeded"}, Steps: []group.Step{{Action: group.RestartGroup}}}}}
	members := []group.Member{{Name: "workers-0"}, {Name: "workers-1"}}
	plan, err := group.MakePlan(policy, group.State{}, jobs.Of("owner", members, []batchv1.Job{failed}, "example.com/attempt"), now)
	fmt.Println(plan.Message(), err)
	// Output: RestartGroup: workers-0 failed: DeadlineExceeded <nil>
}
