package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// newGroup returns a group of the Jobs g-a-0 and so on, whose rules name the exit codes 2 and 3.
func newGroup(jobs, maxRestarts int, rules ...Rule) *JobGroup {
	g := &JobGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g-uid"}}
	t := Template{Name: "a", Replicas: jobs}
	t.Spec.PodFailurePolicy = &failurepolicy.Spec{Rules: []failurepolicy.Rule{exits("ExitCode2", 2), exits("ExitCode3", 3)}}
	g.Spec = Spec{Jobs: []Template{t}, FailurePolicy: FailurePolicy{MaxRestarts: maxRestarts, Rules: rules}}
	return g
}

func exits(name string, code int32) failurepolicy.Rule {
	return failurepolicy.Rule{Name: name, Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}}}
}

func on(action Action, reasons ...string) Rule {
	return Rule{Action: action, OnJobFailureReasons: reasons}
}

// newJobs returns Jobs from one line: "0 Failed/Reason, 1 Complete, 2@1 Running deleted" are g-a-0
// to g-a-2, the last of which was created by restart 1.
func newJobs(line string) (jobs []*batchv1.Job) {
	for i, text := range strings.Split(line, ", ") {
		if text == "" {
			continue
		}
		words := strings.Fields(text)
		number, restart, _ := strings.Cut(words[0], "@")
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "g-a-" + number, UID: types.UID(fmt.Sprint("job-", i)),
			Annotations: map[string]string{restartAnnotation: restart},
		}}
		if kind, reason, _ := strings.Cut(words[1], "/"); kind != "Running" {
			job.Status.Conditions = []batchv1.JobCondition{{
				Type: batchv1.JobConditionType(kind), Status: corev1.ConditionTrue, Reason: reason, Message: "because",
				LastTransitionTime: metav1.NewTime(noon),
			}}
		}
		if slices.Contains(words, "deleted") {
			now := metav1.NewTime(noon)
			job.DeletionTimestamp = &now
		}
		jobs = append(jobs, job)
	}
	return jobs
}

func TestDecide(t *testing.T) {
	story1 := []Rule{on(FailGroup, "PodFailurePolicy_ExitCode2")}
	story2 := []Rule{on(FailJob, "PodFailurePolicy_ExitCode2"), on(RestartJob, "PodFailurePolicy_ExitCode3")}
	all := map[string]int{"g-a-0": 1, "g-a-1": 1, "g-a-2": 1}
	for _, test := range []struct {
		name   string
		rules  []Rule
		status Status
		jobs   string
		want   Status
		remove string // the numbers of the Jobs
		create string
	}{
		{name: "a new group", want: Status{Phase: Running}, create: "0 1 2"},
		{name: "only one Job exists: the others are created", jobs: "1 Running",
			want: Status{Phase: Running}, create: "0 2"},
		{name: "a user deletes a Job: it is recreated when it is gone", jobs: "0 Running, 1 Failed/BackoffLimitExceeded deleted, 2 Running",
			want: Status{Phase: Running}},
		{name: "all are complete", jobs: "0 Complete, 1 Complete, 2 Complete", want: Status{Phase: Succeeded}},
		{name: "one is not complete yet", jobs: "0 Complete, 1 Complete, 2 SuccessCriteriaMet", want: Status{Phase: Running}},
		{name: "Succeeded is final", status: Status{Phase: Succeeded}, jobs: "0 Complete", want: Status{Phase: Succeeded}},

		{name: "story 1: the rule fails the group at once, and running Jobs are deleted", rules: story1,
			jobs:   "0 Running, 1 FailureTarget/PodFailurePolicy_ExitCode2, 2 Complete",
			want:   Status{Phase: Failed, Message: "Job g-a-1 failed: PodFailurePolicy_ExitCode2: because"},
			remove: "0"},
		{name: "Failed is final", rules: story1, status: Status{Phase: Failed, Message: "m"},
			jobs: "0 Running deleted, 2 Complete", want: Status{Phase: Failed, Message: "m"}},
		{name: "story 1: any other failure restarts the group", rules: story1,
			jobs: "0 Running, 1 FailureTarget/BackoffLimitExceeded, 2 Complete",
			want: Status{Phase: Restarting, Restarts: 1, Restarted: all,
				Message: "restart 1 of 5: Job g-a-1 failed: BackoffLimitExceeded: because"},
			remove: "0 1 2"},
		{name: "no Job is created before all old ones are gone", status: Status{Restarts: 1, Restarted: all},
			jobs: "1 Failed/BackoffLimitExceeded deleted, 2 Complete", want: Status{Phase: Restarting, Restarts: 1, Restarted: all}, remove: "2"},
		{name: "all old Jobs are gone", status: Status{Phase: Restarting, Restarts: 1, Restarted: all},
			want: Status{Phase: Running, Restarts: 1, Restarted: all}, create: "0 1 2"},
		{name: "the new Jobs are complete", status: Status{Phase: Running, Restarts: 1, Restarted: all},
			jobs: "0@1 Complete, 1@1 Complete, 2@1 Complete", want: Status{Phase: Succeeded, Restarts: 1, Restarted: all}},
		{name: "no restart is left", status: Status{Restarts: 5, Restarted: all}, jobs: "0@5 Failed/DeadlineExceeded, 1@5 Running",
			want: Status{Phase: Failed, Restarts: 5, Restarted: all,
				Message: "all 5 restarts are used up: Job g-a-0 failed: DeadlineExceeded: because"},
			remove: "1"},

		{name: "story 2: one is left failed", rules: story2, jobs: "0 Running, 1 Failed/PodFailurePolicy_ExitCode2, 2 Complete",
			want: Status{Phase: Running}},
		{name: "story 2: one is restarted, and the others run on", rules: story2,
			jobs: "0 Running, 1 Failed/PodFailurePolicy_ExitCode3, 2 Failed/PodFailurePolicy_ExitCode2",
			want: Status{Phase: Restarting, Restarts: 1, Restarted: map[string]int{"g-a-1": 1},
				Message: "restart 1 of 5: Job g-a-1 failed: PodFailurePolicy_ExitCode3: because"},
			remove: "1"},
		{name: "story 2: a Job that is failing is not restarted before its pods are gone", rules: story2, jobs: "0 Running, 1 FailureTarget/PodFailurePolicy_ExitCode3, 2 Running",
			want: Status{Phase: Running}},
		{name: "story 2: two failures at a time are two restarts", rules: story2,
			jobs: "0 Running, 1 Failed/PodFailurePolicy_ExitCode3, 2 Failed/PodFailurePolicy_ExitCode3",
			want: Status{Phase: Restarting, Restarts: 2, Restarted: map[string]int{"g-a-1": 1, "g-a-2": 2},
				Message: "restart 2 of 5: Job g-a-2 failed: PodFailurePolicy_ExitCode3: because"},
			remove: "1 2"},
		{name: "story 2: one restart does not wait for another", rules: story2,
			status: Status{Restarts: 2, Restarted: map[string]int{"g-a-1": 1, "g-a-2": 2}}, jobs: "0 Running, 1 Failed/PodFailurePolicy_ExitCode3 deleted",
			want:   Status{Phase: Restarting, Restarts: 2, Restarted: map[string]int{"g-a-1": 1, "g-a-2": 2}},
			create: "2"},
		{name: "story 2: the last has ended", rules: story2, jobs: "0 Complete, 1 Failed/PodFailurePolicy_ExitCode2, 2 Complete",
			want: Status{Phase: Failed, Message: "1 of 3 Jobs are left failed: Job g-a-1 failed: PodFailurePolicy_ExitCode2: because"}},

		{name: "the strongest action decides", rules: append(story1, story2[1]), jobs: "0 Failed/BackoffLimitExceeded, 1 Failed/PodFailurePolicy_ExitCode3, 2 Failed/PodFailurePolicy_ExitCode2",
			want: Status{Phase: Failed, Message: "Job g-a-2 failed: PodFailurePolicy_ExitCode2: because"}},
		{name: "the plain reason stands for all rules", rules: []Rule{on(FailGroup, "PodFailurePolicy")}, jobs: "0 Failed/PodFailurePolicy_1, 1 Complete, 2 Complete",
			want: Status{Phase: Failed, Message: "Job g-a-0 failed: PodFailurePolicy_1: because"}},
		{name: "a typo in a reason", rules: []Rule{on(FailGroup, "PodFailurePolicy_ExitCode4")},
			want: Status{Phase: Failed, Message: `spec.failurePolicy.rules[0].onJobFailureReasons[0]: Not found: "PodFailurePolicy_ExitCode4"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			group := newGroup(3, 5, test.rules...)
			group.Status = test.status
			p := decide(group, newJobs(test.jobs))
			if got, want := fmt.Sprintf("%+v", p.status), fmt.Sprintf("%+v", test.want); got != want {
				t.Errorf("the status:\ngot  %s\nwant %s", got, want)
			}
			var remove, create []string
			for _, job := range p.remove {
				remove = append(remove, strings.TrimPrefix(job.Name, "g-a-"))
			}
			for _, m := range p.create {
				create = append(create, strings.TrimPrefix(m.name, "g-a-"))
			}
			if got := strings.Join(remove, " "); got != test.remove {
				t.Errorf("to remove: got %q, want %q", got, test.remove)
			}
			if got := strings.Join(create, " "); got != test.create {
				t.Errorf("to create: got %q, want %q", got, test.create)
			}
		})
	}
}

// The status reports the first failure, in whatever order the cache lists the Jobs.
func TestStatusReportsTheFirstFailure(t *testing.T) {
	jobs := newJobs("0 Failed/BackoffLimitExceeded, 1 Failed/DeadlineExceeded, 2 Failed/FailedIndexes")
	for i, later := range []time.Duration{2, 1, 3} {
		jobs[i].Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(later * time.Second))
	}
	for range jobs {
		jobs = append(jobs[1:], jobs[0])
		want := "restart 1 of 5: Job g-a-1 failed: DeadlineExceeded: because"
		if got := decide(newGroup(3, 5), jobs).status.Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*JobGroup){
		"": func(*JobGroup) {},
		`spec.jobs[0].spec.podFailurePolicy.rules[1].name: Duplicate value: "ExitCode2"`: func(g *JobGroup) {
			g.Spec.Jobs[0].Spec.PodFailurePolicy.Rules[1].Name = "ExitCode2"
		},
		`spec.jobs[0].spec.podFailurePolicy.rules[0].name: Invalid value: "1": must not be the index of another rule`: func(g *JobGroup) {
			g.Spec.Jobs[0].Spec.PodFailurePolicy.Rules[0].Name = "1"
			g.Spec.FailurePolicy = FailurePolicy{}
		},
		`spec.failurePolicy.rules[0].onJobFailureReasons[1]: Not found: "PodFailurePolicy_2"`: func(g *JobGroup) {
			g.Spec.FailurePolicy.Rules = []Rule{on(FailJob, "PodFailurePolicy_1", "PodFailurePolicy_2")}
		},
	} {
		g := newGroup(1, 0, on(FailJob, "PodFailurePolicy", "BackoffLimitExceeded", "PodFailurePolicy_ExitCode2"))
		change(g)
		got := ""
		if err := check(&g.Spec); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// KEP-4443, stories: a rule with targetReplicatedJobs applies only to the Jobs of these templates.
// In a group of g-leader-0 and g-workers-0 a rule for one does not apply to the other.
func TestRulesForSomeJobs(t *testing.T) {
	newPair := func(rules ...Rule) *JobGroup {
		group := newGroup(1, 5, rules...)
		group.Spec.Jobs = append(group.Spec.Jobs, group.Spec.Jobs[0])
		group.Spec.Jobs[0].Name, group.Spec.Jobs[1].Name = "leader", "workers"
		return group
	}
	onlyFor := func(target string, rule Rule) Rule {
		rule.TargetReplicatedJobs = []string{target}
		return rule
	}
	failed := newJobs("0 Failed/PodFailurePolicy_ExitCode2")
	for _, test := range []struct {
		failed string
		rules  []Rule
		want   Phase
	}{
		{"g-workers-0", []Rule{onlyFor("workers", on(FailGroup, "PodFailurePolicy_ExitCode2"))}, Failed},
		{"g-leader-0", []Rule{onlyFor("workers", on(FailGroup, "PodFailurePolicy_ExitCode2"))}, Restarting},
		{"g-leader-0", []Rule{onlyFor("workers", on(FailGroup, "PodFailurePolicy")), on(FailJob, "PodFailurePolicy")}, Running},
		{"g-workers-0", []Rule{onlyFor("leader", on(FailJob, "PodFailurePolicy")), on(FailGroup, "PodFailurePolicy")}, Failed},
	} {
		failed[0].Name = test.failed
		if got := decide(newPair(test.rules...), failed).status; got.Phase != test.want {
			t.Errorf("%s fails, with the rules %+v: got %+v, want %s", test.failed, test.rules, got, test.want)
		}
	}

	group := newPair(onlyFor("worker", on(FailGroup, "PodFailurePolicy_ExitCode2")))
	const want = `[spec.failurePolicy.rules[0].targetReplicatedJobs[0]: Not found: "worker", ` +
		`spec.failurePolicy.rules[0].onJobFailureReasons[0]: Not found: "PodFailurePolicy_ExitCode2"]`
	if got := decide(group, nil).status; got.Phase != Failed || got.Message != want {
		t.Errorf("a target that does not exist: got %+v, want it Failed with %s", got, want)
	}
	// The rule that the reason names belongs to a Job that is not a target.
	group = newPair(onlyFor("leader", on(FailGroup, "PodFailurePolicy_ExitCode2")))
	group.Spec.Jobs[0].Spec.PodFailurePolicy = nil
	if got := decide(group, nil).status; got.Phase != Failed || !strings.Contains(got.Message, "onJobFailureReasons[0]: Not found") {
		t.Errorf("a reason of another Job: got %+v, want it Failed", got)
	}
}

// decide does not change its arguments.
func TestDecideChangesNothing(t *testing.T) {
	group := newGroup(3, 5)
	group.Status.Restarted = map[string]int{"g-a-0": 0}
	decide(group, newJobs("0 Failed/BackoffLimitExceeded"))
	if got := group.Status.Restarted["g-a-0"]; got != 0 || group.Status.Restarts != 0 {
		t.Errorf("got %s, want it unchanged", strconv.Itoa(got))
	}
}
