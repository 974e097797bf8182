package lifecycle_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

func having(conditions ...batchv1.JobCondition) batchv1.JobStatus {
	return batchv1.JobStatus{Conditions: conditions}
}

func suspended(at int) batchv1.JobCondition {
	return batchv1.JobCondition{
		Type: batchv1.JobSuspended, Status: "True", Reason: "JobSuspended", Message: "Job suspended", LastProbeTime: After(at), LastTransitionTime: After(at),
	}
}

func resumed(at int) batchv1.JobCondition {
	c := suspended(at)
	c.Status, c.Reason, c.Message = "False", "JobResumed", "Job resumed"
	return c
}

// edited returns the Suspended condition as another client has changed it.
func edited(edit func(*batchv1.JobCondition)) batchv1.JobCondition {
	c := suspended(-5)
	edit(&c)
	return c
}

func TestSuspend(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		before  batchv1.JobStatus
		suspend bool
		want    batchv1.JobStatus
		change  bool
	}{
		{"suspended", started(-5), true, having(suspended(0)), true},
		{"still suspended", having(suspended(-5)), true, having(suspended(-5)), false},
		{"still suspended, and another client has set a start time", started(-5, suspended(-5)), true, started(-5, suspended(-5)), false},
		{"resumed", having(Yes("Other"), suspended(-5)), false, started(0, Yes("Other"), resumed(0)), true},
		{"no condition, and not suspended", started(-5), false, started(-5), false},
		{"still not suspended", started(-5, resumed(-5)), false, started(-5, resumed(-5)), false},
		{"suspended again", started(-5, resumed(-5)), true, having(suspended(0)), true},
		{"another client wrote the condition: the start time stays", started(-5, No(batchv1.JobSuspended)), false, started(-5, resumed(0)), true},
		{"neither True nor False", having(edited(func(c *batchv1.JobCondition) { c.Status = "Unknown" })), true, having(suspended(0)), true},
		{"another reason", having(edited(func(c *batchv1.JobCondition) { c.Reason = "R" })), true, having(suspended(0)), true},
		{"another message", having(edited(func(c *batchv1.JobCondition) { c.Message = "M" })), true, having(suspended(0)), true},
	} {
		status := tc.before.DeepCopy()
		Same(t, tc.reason+": change", lifecycle.Suspend(status, tc.suspend, Noon()), tc.change)
		Same(t, tc.reason, *status, tc.want)
	}
}

// The API server accepts every status of a Job that is suspended and resumed in any order,
// and its start time is the time of the last resumption. In k134521 it rejected a resumption.
func TestRandom_suspendAndResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := NewJob()
		job.Status.StartTime = new(After(0))
		wantStart := new(Noon())
		was := false
		now := Noon()
		for range rapid.IntRange(1, 8).Draw(t, "syncs") {
			now = now.Add(time.Duration(rapid.IntRange(-2, 5).Draw(t, "seconds")) * time.Second)
			suspend := rapid.Bool().Draw(t, "suspend")
			job.Spec.Suspend = &suspend
			next := job.DeepCopy()
			change := lifecycle.Suspend(&next.Status, suspend, now)
			accepted(t, "status", next, job)
			want := false
			switch {
			case suspend && !was:
				want, wantStart = true, nil
			case !suspend && was:
				want, wantStart = true, new(now)
			}
			Same(t, "change", change, want)
			var start *time.Time
			if next.Status.StartTime != nil {
				start = &next.Status.StartTime.Time
			}
			Same(t, "start time", start, wantStart)
			wantPhase := jobstatus.Running
			if suspend {
				wantPhase = jobstatus.Suspended
			}
			Same(t, "phase", jobstatus.OutcomeOf(next).Phase, wantPhase)
			job, was = next, suspend
		}
	})
}
