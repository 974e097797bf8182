package restartgroup_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/examples/restartgroup"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/validation"
)

// The rules of the pods, with names, as a user of the framework writes them.
const rules = `
rules:
- name: ExitCode2
  action: FailJob
  onExitCodes: {containerName: main, operator: In, values: [2]}
- name: ExitCode3
  action: FailJob
  onExitCodes: {containerName: main, operator: In, values: [3]}
`

// run runs a Job whose pod ends with an exit code. The stored Job has the rules without their
// names.
func run(name string, code int32) (*batchv1.Job, error) {
	var policy failurepolicy.Spec
	if err := yaml.Unmarshal([]byte(rules), &policy); err != nil {
		return nil, err
	}
	if errs := validation.RuleNames(&policy, nil); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	one, none := int32(1), int32(0)
	job := &batchv1.Job{}
	job.Name = name
	job.Spec.Completions, job.Spec.Parallelism, job.Spec.BackoffLimit = &one, &one, &none
	job.Spec.PodFailurePolicy = policy.ToAPI()
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "image"}},
	}
	c, err := cluster.New(job, time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, rule := range policy.Rules {
		names = append(names, rule.Name)
	}
	caller, cache := cluster.NewCaller(jobfate.RuleNames(names...)), c.NewCache(true)
	for range 3 {
		c.Run(caller, cache)
		for _, pod := range c.Pods() {
			c.End(pod.UID, code)
		}
		c.Now = c.Now.Add(time.Second)
	}
	return c.Job(), nil
}

func decide(group restartgroup.Group, codes ...int32) {
	var jobs []*batchv1.Job
	for i, code := range codes {
		job, err := run(fmt.Sprint("job-", i), code)
		if err != nil {
			fmt.Println(err)
			return
		}
		jobs = append(jobs, job)
	}
	v := group.Decide(jobs)
	fmt.Println("exit codes", codes, "->", v.Action)
	if v.Action != restartgroup.Nothing {
		fmt.Println(" ", v.Job, "failed:", v.Reason)
	}
	for _, job := range v.Restart {
		fmt.Println("  restart", job.Name)
	}
}

// Story 1: "decide whether to fail the JobSet or not, based on the exact container
// exit code that caused a child job failure."
func ExampleGroup_Decide_failTheGroup() {
	group := restartgroup.Group{
		MaxRestarts: 10,
		Rules:       []restartgroup.Rule{{Action: restartgroup.FailGroup, Reasons: []string{"PodFailurePolicy_ExitCode2"}}},
	}
	decide(group, 0, 0)
	decide(group, 0, 2)
	decide(group, 0, 1)
	// Output:
	// exit codes [0 0] -> Nothing
	// exit codes [0 2] -> FailGroup
	//   job-1 failed: PodFailurePolicy_ExitCode2
	// exit codes [0 1] -> RestartGroup
	//   job-1 failed: BackoffLimitExceeded
	//   restart job-0
	//   restart job-1
}

// Story 2: "When a Job fails due to a pod failing with exit code 2, I want my job
// management software to leave the Job in a failed state. When a Job fails due to a
// pod failing with exit code 3, I want my job management software to restart the
// Job."
func ExampleGroup_Decide_restartTheJob() {
	group := restartgroup.Group{
		MaxRestarts: 10,
		Rules: []restartgroup.Rule{
			{Action: restartgroup.FailJob, Reasons: []string{"PodFailurePolicy_ExitCode2"}},
			{Action: restartgroup.RestartJob, Reasons: []string{"PodFailurePolicy_ExitCode3"}},
		},
	}
	decide(group, 0, 2)
	decide(group, 0, 3)
	decide(group, 2, 3, 3)
	group.Restarts = 10
	decide(group, 0, 3)
	// Output:
	// exit codes [0 2] -> FailJob
	//   job-1 failed: PodFailurePolicy_ExitCode2
	// exit codes [0 3] -> RestartJob
	//   job-1 failed: PodFailurePolicy_ExitCode3
	//   restart job-1
	// exit codes [2 3 3] -> RestartJob
	//   job-1 failed: PodFailurePolicy_ExitCode3
	//   restart job-1
	//   restart job-2
	// exit codes [0 3] -> FailGroup
	//   job-1 failed: PodFailurePolicy_ExitCode3
}

// A Job that is failing still has pods, so it is not restarted yet. The group can fail without
// waiting.
func TestFailingJobIsNotRestarted(t *testing.T) {
	failing := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy_ExitCode3"},
	}}}
	for _, action := range []restartgroup.Action{restartgroup.RestartJob, restartgroup.FailGroup} {
		group := restartgroup.Group{MaxRestarts: 1, Rules: []restartgroup.Rule{{Action: action, Reasons: []string{"PodFailurePolicy_ExitCode3"}}}}
		v := group.Decide([]*batchv1.Job{failing})
		if v.Action != action || len(v.Restart) > 0 {
			t.Errorf("got %v and %d Jobs to restart, want %v and none", v.Action, len(v.Restart), action)
		}
	}
}
