package restartgroup_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"

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
	stored := c.Job().DeepCopy()
	stored.UID = types.UID(name) // each Job here has a cluster of its own
	return stored, nil
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
	group.Restarts = 9
	decide(group, 0, 3)
	decide(group, 2, 3, 3)
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
	// exit codes [0 3] -> RestartJob
	//   job-1 failed: PodFailurePolicy_ExitCode3
	//   restart job-1
	// exit codes [2 3 3] -> FailGroup
	//   job-1 failed: PodFailurePolicy_ExitCode3
}

// withCondition returns a Job with a condition whose reason names the rule ExitCode3.
func withCondition(name string, condition batchv1.JobConditionType) *batchv1.Job {
	job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{
		{Type: condition, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy_ExitCode3"},
	}}}
	job.Name, job.UID = name, types.UID(name)
	return job
}

// groupOf returns a group with one rule, for ExitCode3.
func groupOf(action restartgroup.Action, maxRestarts int) restartgroup.Group {
	return restartgroup.Group{
		MaxRestarts: maxRestarts, Rules: []restartgroup.Rule{{Action: action, Reasons: []string{"PodFailurePolicy_ExitCode3"}}},
	}
}

// A Job that is failing still has pods, so it is not restarted yet. The group can fail without
// waiting.
func TestFailingJobIsNotRestarted(t *testing.T) {
	failing := withCondition("a", batchv1.JobFailureTarget)
	for _, action := range []restartgroup.Action{restartgroup.RestartJob, restartgroup.FailGroup} {
		v := groupOf(action, 1).Decide([]*batchv1.Job{failing})
		if v.Action != action || len(v.Restart) > 0 || v.State.Restarts > 0 {
			t.Errorf("got %v, %d Jobs to restart and %d restarts, want %v and none", v.Action, len(v.Restart), v.State.Restarts, action)
		}
	}
}

// Each Job that is restarted on its own takes a unit of the budget. If there are too few for all
// failed Jobs, none is restarted.
func TestBudgetIsPerJob(t *testing.T) {
	jobs := []*batchv1.Job{
		withCondition("a", batchv1.JobFailed), withCondition("b", batchv1.JobFailed), withCondition("c", batchv1.JobFailureTarget),
	}
	for budget, want := range []struct {
		action              restartgroup.Action
		restarts, restarted int
	}{
		{restartgroup.FailGroup, 0, 0},
		{restartgroup.FailGroup, 0, 0},
		{restartgroup.FailGroup, 0, 0}, // c will need a unit too
		{restartgroup.RestartJob, 2, 2},
	} {
		v := groupOf(restartgroup.RestartJob, budget).Decide(jobs)
		if v.Action != want.action || v.State.Restarts != want.restarts || len(v.Restart) != want.restarted {
			t.Errorf("with a budget of %d: %v, %d restarts, %d Jobs; want %v, %d, %d", budget,
				v.Action, v.State.Restarts, len(v.Restart), want.action, want.restarts, want.restarted)
		}
	}
}

// A failure counts once, however often its Job is seen: the Job may be listed until its deletion
// is observed, and a stale cache may show it again.
func TestFailureCountsOnce(t *testing.T) {
	for _, action := range []restartgroup.Action{restartgroup.RestartJob, restartgroup.RestartGroup} {
		group := groupOf(action, 5)
		old := []*batchv1.Job{withCondition("a", batchv1.JobFailed), withCondition("b", batchv1.JobComplete)}
		group.State = group.Decide(old).State
		if group.Restarts != 1 {
			t.Fatalf("%v: the failure counts %d times", action, group.Restarts)
		}
		again := group.Decide(old)
		if again.State.Restarts != 1 || !slices.Contains(again.Restart, old[0]) {
			t.Errorf("%v: seen again, the failure counts %d times and %d Jobs are restarted", action, again.State.Restarts, len(again.Restart))
		}
		group.State = group.Decide([]*batchv1.Job{withCondition("a2", batchv1.JobSuspended)}).State // its replacement
		if stale := group.Decide(old); stale.State.Restarts != 1 || stale.Action != restartgroup.Nothing {
			t.Errorf("%v: after its replacement, a stale cache shows it: %v, it counts %d times", action, stale.Action, stale.State.Restarts)
		}
	}
}

// Whatever fails, and whatever a cache shows again, the Jobs that are restarted on their own and the
// restarts of the group are within the budget, and each has been counted.
func TestRestartsAreWithinTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group := groupOf(restartgroup.RestartJob, rapid.IntRange(0, 4).Draw(t, "budget"))
		jobs := make([]*batchv1.Job, 3)
		var lists [][]*batchv1.Job
		alone, together := map[types.UID]bool{}, 0
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			for i := range jobs {
				if jobs[i] == nil || rapid.Bool().Draw(t, "replaced") {
					jobs[i] = withCondition(fmt.Sprint(i, "-", step), batchv1.JobSuspended)
				}
				if rapid.Bool().Draw(t, "fails") {
					jobs[i] = jobs[i].DeepCopy()
					c := &jobs[i].Status.Conditions[0]
					c.Type = batchv1.JobFailed
					c.Reason = rapid.SampledFrom([]string{"PodFailurePolicy_ExitCode3", "BackoffLimitExceeded"}).Draw(t, "reason")
				}
			}
			lists = append(lists, slices.Clone(jobs))
			v := group.Decide(rapid.SampledFrom(lists).Draw(t, "cached"))
			for _, job := range v.Restart {
				if v.Action == restartgroup.RestartJob && !slices.Contains(group.Replaced, job.UID) {
					alone[job.UID] = true
				}
			}
			if v.Action == restartgroup.RestartGroup {
				together++
			}
			group.State = v.State
			if n := len(alone) + together; n != group.Restarts || n > group.MaxRestarts {
				t.Fatalf("%d Jobs and %d times the group were restarted, %d are counted, the budget is %d", len(alone), together, group.Restarts, group.MaxRestarts)
			}
		}
	})
}
