package group_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/group/jobs"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// The policies of other projects are data. Each file has the source, and decisions: a line is
// "SECOND MEMBER KEY=VALUE...: ACTION [after SECONDS]". A second that is not later than the one before
// begins a new group.
func TestKnownPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/*.yaml")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := Must(os.ReadFile(file))
			policy := policyOf(t, string(text))
			decisions := 0
			var state group.State
			last := -1
			for line := range strings.Lines(string(text)) {
				what, want, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), ": ")
				var second int
				var name string
				if n, _ := fmt.Sscanf(what, "%d %s", &second, &name); !ok || n < 2 || line[0] != '#' {
					continue
				}
				if decisions++; second <= last {
					state = group.State{}
				}
				last, state = second, state.Resume()
				f := failureOf(t, name, strings.Fields(what)[2:])
				f.Attempt, f.At = state.Attempt(f.Member), at(second)
				d := Must(group.Decide(policy, state, []group.Failure{f}, at(second)))
				got := string(d.Action)
				if !d.NotBefore.IsZero() {
					got += fmt.Sprint(" after ", int(d.NotBefore.Sub(at(second))/time.Second))
				}
				Same(t, what, got, want)
				state = stored(d.State)
			}
			if decisions < 3 {
				t.Errorf("only %d decisions", decisions)
			}
		})
	}
}

// failureOf reads a failure. An underscore stands for a space.
func failureOf(t *testing.T, name string, fields []string) (f group.Failure) {
	f.Name = name
	f.Template, _, _ = strings.Cut(name, "-")
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		value = strings.ReplaceAll(value, "_", " ")
		switch key {
		case "class":
			f.Class = value
		case "reason":
			f.Reason = value
		case "message":
			f.Message = value
		case "code":
			Must(fmt.Sscan(value, &f.ExitCode))
		default:
			t.Fatalf("unknown field %q", field)
		}
	}
	return f
}

// docs/groups.md has the policy of the example.
func TestDocs(t *testing.T) {
	text := Must(os.ReadFile("../docs/groups.md"))
	if !strings.Contains(string(text), "```yaml"+examplePolicy+"```") {
		t.Error("docs/groups.md does not have the policy of the example")
	}
}

// KEP-4443, Story 1: "If Job fails due to a pod failing with exit code 2, fail the JobSet immediately".
// Story 2: "When a Job fails due to a pod failing with exit code 2, I want my job management software to
// leave the Job in a failed state. When a Job fails due to a pod failing with exit code 3, I want my job
// management software to restart the Job."
func TestKEP4443Stories(t *testing.T) {
	story1 := policyOf(t, `{budgets: [{name: restarts, max: 10}], rules: [
		{onReasons: [PodFailurePolicy_ExitCode2], templates: [workers], steps: [{action: FailGroup}]},
		{steps: [{action: RestartGroup, charges: [restarts]}]}]}`)
	story2 := policyOf(t, `{rules: [{onRuleNames: [ExitCode2], steps: [{action: Leave}]}, {onRuleNames: [ExitCode3], steps: [{action: RestartMember}]}]}`)
	worker := member("workers-3", "workers")
	for _, tc := range []struct {
		policy *group.Policy
		reason string
		want   group.Action
	}{
		{story1, "PodFailurePolicy_ExitCode2", group.FailGroup},
		{story1, "BackoffLimitExceeded", group.RestartGroup},
		{story2, "PodFailurePolicy_ExitCode2", group.Leave},
		{story2, "PodFailurePolicy_ExitCode3", group.RestartMember},
	} {
		job := &batchv1.Job{}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Reason: tc.reason}}
		f, _ := jobs.FailureOf(job, worker, 0)
		Same(t, tc.reason, Must(group.Decide(tc.policy, group.State{}, []group.Failure{f}, noon)).Action, tc.want)
	}
}
