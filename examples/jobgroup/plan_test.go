package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/group"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func readSample(t *testing.T, name string) *JobGroup {
	t.Helper()
	text, err := os.ReadFile("deploy/samples/" + name + ".yaml")
	must(t, err)
	group := &JobGroup{}
	must(t, yaml.UnmarshalStrict(text, group))
	return group
}

// newJobs returns Jobs from one line: "0 Failed/Reason, 1 Complete, 2@1 Running" are g-a-0 to g-a-2,
// the last of which belongs to attempt 1.
func newJobs(line string) (jobs []batchv1.Job) {
	for text := range strings.SplitSeq(line, ", ") {
		number, condition, ok := strings.Cut(text, " ")
		if !ok {
			continue
		}
		number, attempt, _ := strings.Cut(number, "@")
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "g-a-" + number, OwnerReferences: []metav1.OwnerReference{{UID: "g-uid", Controller: new(true)}}, Annotations: map[string]string{attemptAnnotation: attempt}}}
		if kind, reason, _ := strings.Cut(condition, "/"); kind != "Running" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobConditionType(kind), Status: "True", Reason: reason,
				LastTransitionTime: metav1.NewTime(noon)}}
		}
		jobs = append(jobs, *job)
	}
	return jobs
}

// A group step by step: the Jobs that exist, and the plan.
func TestDecide(t *testing.T) {
	group := newGroup(2, policies[3])
	for _, step := range []struct {
		jobs   string
		now    int
		status string // phase, restarts, succeeded
		plan   string // what is removed and created, and when
	}{
		{"", 0, "Running 0 ", "create g-a-0 g-a-1"},
		{"0 Running, 1 Running", 0, "Running 0 ", ""},
		{"0 Complete, 1 Failed/BackoffLimitExceeded", 0, "Restarting 1 0", ""}, // stored first
		{"0 Complete, 1 Failed/BackoffLimitExceeded", 0, "Restarting 1 0", "remove g-a-1"},
		{"0 Complete", 1, "Running 1 0", "in 4s"}, // the backoff of the step
		{"0 Complete", 5, "Running 1 0", "create g-a-1"},
		{"0 Complete, 1@1 Failed/DeadlineExceeded", 60, "Restarting 2 ", ""},
		{"0 Complete, 1@1 Failed/DeadlineExceeded", 60, "Restarting 2 ", "remove g-a-0 g-a-1"},
		{"1@1 Failed/DeadlineExceeded", 60, "Restarting 2 ", "remove g-a-1"}, // waits until all are gone
		{"", 70, "Running 2 ", "create g-a-0 g-a-1"},
		{"0@1 Complete, 1@2 Complete", 80, "Complete 2 0,1", ""},
	} {
		status, p, err := group.plan(newJobs(step.jobs), noon.Add(time.Duration(step.now)*time.Second))
		must(t, err)
		group.Status = status
		if got := fmt.Sprintf("%s %d %s", status.Phase, status.Restarts, status.Succeeded); got != step.status {
			t.Errorf("%q: status %q, want %q", step.jobs, got, step.status)
		}
		if got := textOf(p); got != step.plan {
			t.Errorf("%q: plan %q, want %q", step.jobs, got, step.plan)
		}
	}
}

// textOf names the Jobs of a plan.
func textOf(p group.Plan) string {
	var words []string
	for i, j := range p.Delete {
		words = append(words, []string{"remove", ""}[min(i, 1)], j.Name)
	}
	for i, m := range p.Create {
		words = append(words, []string{"create", ""}[min(i, 1)], m.Name)
	}
	if p.Wait > 0 {
		words = append(words, "in "+p.Wait.String())
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// The ends of a group.
func TestDecide_ends(t *testing.T) {
	for _, tc := range []struct{ policy, jobs, want string }{
		{`{}`, "0 Failed/X, 1 Running", "Failed: no rule matches, FailGroup: Job g-a-0 failed: X, remove g-a-1"},
		{`{rules: [{steps: [{action: Leave}]}]}`, "0 Failed/X, 1 Complete", "Failed: members left failed: 1, "},
		{`{rules: [{steps: [{action: CompleteGroup}]}]}`, "0 Failed/X, 1 Running", "Complete: CompleteGroup: Job g-a-0 failed: X, remove g-a-1"},
		{`{rules: [{templates: [b], steps: [{action: Leave}]}]}`, "", `Failed: spec.failurePolicy.rules[0].templates[0]: Not found: "b", `},
		{`{rules: [{steps: [{action: SuspendGroup, backoff: {}}]}]}`, "0 Failed/X, 1 Running", "Suspended: SuspendGroup: Job g-a-0 failed: X, remove g-a-0 g-a-1"},
	} {
		g := newGroup(2, tc.policy)
		g.Status, _, _ = g.plan(newJobs(tc.jobs), noon)
		status, p, err := g.plan(newJobs(tc.jobs), noon)
		if got := fmt.Sprintf("%s: %s, %s", status.Phase, status.Message, textOf(p)); err != nil || got != tc.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, tc.want)
		}
	}
	if _, p, err := newGroup(1, `{}`).plan(newJobs("0@1 Failed/X"), noon); err == nil {
		t.Errorf("a Job of a later attempt than the status: %+v, want an error", p)
	}
}

// newJob copies the rules to the Job, and their names to the annotation.
func TestNewJob(t *testing.T) {
	group := readSample(t, "restart-job")
	group.Status.Failures.Group.Restarts = 7
	job := group.newJob(group.members()[3])
	for what, pair := range map[string][2]string{
		"name":    {job.Name, "restart-job-simulations-3"},
		"manager": {*job.Spec.ManagedBy, "jobfate.dev/jobgroup"},
		"names":   {job.Annotations["jobfate.dev/failure-rule-names"], `{"0":"ExitCode2","1":"ExitCode3"}`},
		"attempt": {job.Annotations[attemptAnnotation], "7"},
		"group":   {job.Labels[groupLabel], "restart-job"},
		"owner":   {metav1.GetControllerOf(job).Kind, "JobGroup"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %s, want %s", what, pair[0], pair[1])
		}
	}
	if got := job.Spec.PodFailurePolicy; got == nil || len(got.Rules) != 2 || got.Rules[1].OnExitCodes.Values[0] != 3 || attemptOf(job) != 7 {
		t.Errorf("the rules: got %v, attempt %d", got, attemptOf(job))
	}
}
