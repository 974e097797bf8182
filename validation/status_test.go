package validation

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func is(kinds ...batchv1.JobConditionType) []batchv1.JobCondition {
	return Each(kinds, Yes)
}

const (
	complete = batchv1.JobComplete
	failed   = batchv1.JobFailed
	target   = batchv1.JobFailureTarget
	criteria = batchv1.JobSuccessCriteriaMet
)

// statuses are the valid ones that the cases of testdata/status name.
var statuses = map[any]batchv1.JobStatus{
	"running": {
		StartTime: new(After(0)), Active: 2, Ready: new(int32(2)), Terminating: new(int32(1)), Succeeded: 1, Failed: 1,
	},
	"complete": {
		StartTime: new(After(0)), CompletionTime: new(After(9)), Succeeded: 5, Failed: 1, Conditions: is(criteria, complete),
	},
	"failed": {StartTime: new(After(0)), Succeeded: 1, Failed: 5, Conditions: is(target, failed)},
}

// TestStatusUpdate validates the updates of testdata/status, of a Job with five indexes. Its status was and now is one
// of statuses, with the changes in old and new. Some cases also have the errors of Status, about the new Job alone. One
// that has the name of a rule breaks it.
func TestStatusUpdate(t *testing.T) {
	tested := map[string]bool{}
	eachCase(t, "status", func(t *testing.T, c testCase) {
		base := prepared(versioned, perIndex(5))
		base.Status = statuses[c.input["was"]]
		old := changed(t, base, c.old)
		next := old.DeepCopy()
		if status, named := statuses[c.input["now"]]; named {
			next.Status = status
		}
		job := changed(t, next, c.new)
		wasJob, wasOld := job.DeepCopy(), old.DeepCopy()

		for what, want := range c.want {
			errs := StatusUpdate(job, old, releases[what]...)
			if what == "Status" {
				errs = Status(job)
			}
			wantErrors(t, errs, want...)
		}
		rule, _, _ := strings.Cut(c.name, ":")
		if i := slices.IndexFunc(statusRules, func(r statusRule) bool { return r.name == rule }); i >= 0 {
			tested[rule] = true
			breaksRule(t, statusRules[i], job, old, c.want[""])
		}
		Same(t, "the new Job", job, wasJob)
		Same(t, "the old Job", old, wasOld)
	})
	for _, rule := range statusRules {
		Same(t, rule.name+" has a case", tested[rule.name], true)
	}
	const want = 29 // 22 that are options in the API server, and 7 that are not
	Same(t, "the number of rules", len(statusRules), want)
}

// breaksRule checks that a rule reports one of the errors of an update.
func breaksRule(t *testing.T, rule statusRule, job, old *batchv1.Job, all []string) {
	t.Helper()
	c := &change{now: viewOf(&job.Status, &old.Spec), was: viewOf(&old.Status, &old.Spec)}
	var errs field.ErrorList
	if rule.step != nil {
		errs = rule.step(c)
	} else {
		errs = rule.state(&c.now)
		if alone := said(Status(job)); len(errs) != 1 || !slices.Contains(alone, said(errs)[0]) {
			t.Errorf("Status says %q, want %q among them", alone, said(errs))
		}
	}
	if len(errs) != 1 || !slices.Contains(all, said(errs)[0]) {
		t.Errorf("%s says %q, want one of %q", rule.name, said(errs), all)
	}
	// A rule with a condition reports nothing if nothing changes.
	if rule.when != nil && len(all) == 1 {
		wantErrors(t, StatusUpdate(job, job.DeepCopy()))
	}
}

// Times are compared as the API server sees them, in seconds.
func TestStatusUpdateTimes(t *testing.T) {
	old := prepared(versioned)
	old.Status = statuses["complete"]
	old.Status.CompletionTime = new(After(0))
	job := old.DeepCopy()
	job.Status.StartTime = new(metav1.NewTime(After(0).Add(700 * time.Millisecond).In(time.FixedZone("", 3600))))
	job.Status.CompletionTime = new(metav1.NewTime(After(0).Add(300 * time.Millisecond)))
	wantErrors(t, StatusUpdate(job, old))
	wantErrors(t, Status(job))
	// A nil time and the zero time are the same: it is sent to the API server as null.
	none, running := prepared(versioned), prepared(versioned)
	running.Status = statuses["running"]
	zero := none.DeepCopy()
	zero.Status.StartTime = &metav1.Time{}
	wantErrors(t, StatusUpdate(zero, none))
	wantErrors(t, StatusUpdate(running, zero))
	job.Status.CompletionTime = &metav1.Time{}
	wantErrors(t, StatusUpdate(job, running),
		"status.completionTime: Required value: completionTime is required for Complete jobs")
}

func TestStatusDeterministic(t *testing.T) {
	job := prepared(perIndex(5))
	job.Status = batchv1.JobStatus{Active: -1, CompletedIndexes: "x", FailedIndexes: new("y"), Conditions: is(complete, failed)}
	first := said(Status(job))
	for range 10 {
		Same(t, "the errors, in their order", said(Status(job)), first)
	}
}
