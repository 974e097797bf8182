package lifecycle_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/validation"
)

var (
	failing    = lifecycle.End{Interim: batchv1.JobFailureTarget, Verdict: lifecycle.Verdict{Reason: "R", Message: "M"}}
	succeeding = lifecycle.End{Interim: batchv1.JobSuccessCriteriaMet, Verdict: lifecycle.Verdict{Reason: "R", Message: "M"}}
)

func conditions(all ...batchv1.JobCondition) []batchv1.JobCondition { return all }

// started returns the status of a Job that started some seconds after noon.
func started(at int, conditions ...batchv1.JobCondition) batchv1.JobStatus {
	return batchv1.JobStatus{StartTime: new(After(at)), Conditions: conditions}
}

// ended returns the status of a Job that has started and ended.
func ended(start, completion int, conditions ...batchv1.JobCondition) *batchv1.JobStatus {
	st := started(start, conditions...)
	st.CompletionTime = new(After(completion))
	return &st
}

func TestEnterInterim(t *testing.T) {
	want := batchv1.JobCondition{
		Type: batchv1.JobFailureTarget, Status: "True", Reason: "R", Message: "M", LastProbeTime: After(0), LastTransitionTime: After(0),
	}
	decided := failing
	decided.Decided = true
	for _, tc := range []struct {
		reason       string
		before, want []batchv1.JobCondition
		end          lifecycle.End
	}{
		{"the first", nil, conditions(want), failing},
		{"beside others", conditions(No(batchv1.JobSuspended)), []batchv1.JobCondition{No(batchv1.JobSuspended), want}, failing},
		{"one that is not True stays", conditions(No(batchv1.JobFailureTarget)), []batchv1.JobCondition{No(batchv1.JobFailureTarget), want}, failing},
		{"one that is True already", conditions(Yes(batchv1.JobFailureTarget)), conditions(Yes(batchv1.JobFailureTarget)), decided},
		{"the Job does not end", conditions(No(batchv1.JobSuspended)), conditions(No(batchv1.JobSuspended)), lifecycle.End{}},
	} {
		status := &batchv1.JobStatus{Conditions: tc.before}
		lifecycle.EnterInterim(status, tc.end, Noon())
		Same(t, tc.reason, status.Conditions, tc.want)
		lifecycle.EnterInterim(status, tc.end, Noon())
		Same(t, tc.reason+", entered twice", status.Conditions, tc.want)
	}
}

// The terminal condition "follows with the same reason and message". In k#123775, k#109485 and k#119160 Jobs finished
// while pods were active, terminating or uncounted.
func TestEnterTerminal(t *testing.T) {
	terminal := func(c batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: c, Status: "True", Reason: "R", Message: "M", LastProbeTime: After(0), LastTransitionTime: After(0)}
	}
	met, target := Yes(batchv1.JobSuccessCriteriaMet), Yes(batchv1.JobFailureTarget)
	timeless := having(met)
	timeless.StartTime, timeless.CompletionTime = &metav1.Time{}, &metav1.Time{}
	uncounted := func(lists *batchv1.UncountedTerminatedPods) batchv1.JobStatus {
		return batchv1.JobStatus{UncountedTerminatedPods: lists, Conditions: conditions(target)}
	}
	for _, tc := range []struct {
		reason      string
		before      batchv1.JobStatus
		end         lifecycle.End
		terminating int32
		want        *batchv1.JobStatus // nil: the Job does not end yet
	}{
		{"success", started(-5, met), succeeding, 0, ended(-5, 0, met, terminal(batchv1.JobComplete))},
		{"failure", started(-5, target), failing, 0, new(started(-5, target, terminal(batchv1.JobFailed)))},
		{"it never started", having(met), succeeding, 0, ended(0, 0, met, terminal(batchv1.JobComplete))},
		{"the clock went back", started(5, met), succeeding, 0, ended(5, 5, met, terminal(batchv1.JobComplete))},
		{"a zero time is none", timeless, succeeding, 0, ended(0, 0, met, terminal(batchv1.JobComplete))},
		{"a completion time without a completion can never change again", *ended(-5, -3, met), succeeding, 0,
			ended(-5, -3, met, terminal(batchv1.JobComplete))},
		{"a condition that was False", started(0, No(batchv1.JobFailed), target), failing, 0,
			new(started(0, terminal(batchv1.JobFailed), target))},
		{"the Job does not end", having(target), lifecycle.End{}, 0, nil},
		{"a pod is active", batchv1.JobStatus{Active: 1, Conditions: conditions(target)}, failing, 0, nil},
		{"a pod is terminating", having(target), failing, 1, nil},
		{"a success is uncounted", uncounted(Lists(UIDs("a"), nil)), failing, 0, nil},
		{"a failure is uncounted", uncounted(Lists(nil, UIDs("a"))), failing, 0, nil},
		{"the interim condition is missing", having(met), failing, 0, nil},
		{"there is no condition", batchv1.JobStatus{}, failing, 0, nil},
		{"the interim condition is False", batchv1.JobStatus{Conditions: conditions(No(batchv1.JobFailureTarget))}, failing, 0, nil},
	} {
		want := tc.want
		if want == nil {
			want = tc.before.DeepCopy()
		}
		status := tc.before.DeepCopy()
		entered := lifecycle.EnterTerminal(status, tc.end, tc.terminating, Noon())
		Same(t, tc.reason, status, want)
		Same(t, tc.reason+": entered", entered, tc.want != nil)
	}
}

// drawRunning draws a Job that has not ended, with a valid status and conditions that are
// not True.
func drawRunning(t *rapid.T) *batchv1.Job {
	job := NewJob()
	job.Spec = batchv1.JobSpec{Suspend: new(rapid.Bool().Draw(t, "suspend")), Completions: new(rapid.Int32Range(0, 2).Draw(t, "completions"))}
	for _, c := range ConditionTypes() {
		switch {
		case OneIn(t, 4, "condition"):
			job.Status.Conditions = append(job.Status.Conditions, No(c))
		case c == batchv1.JobSuspended && rapid.Bool().Draw(t, "suspended"):
			job.Status.Conditions = append(job.Status.Conditions, Yes(c))
		}
	}
	if rapid.Bool().Draw(t, "started") {
		job.Status.StartTime = new(After(rapid.IntRange(-3, 3).Draw(t, "start")))
	}
	job.Status.Active = rapid.Int32Range(0, 1).Draw(t, "active")
	if rapid.Bool().Draw(t, "uncounted") {
		job.Status.UncountedTerminatedPods = Lists(nil, UIDs("a"))
	}
	return job
}

// accepted fails the test if the API server would reject the status.
func accepted(t rapid.TB, what string, job, old *batchv1.Job) {
	t.Helper()
	Same(t, what+": what the API server rejects", validation.StatusUpdate(job, old), nil)
}

func TestRandom_statusesOnTheWayToTheEndAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := drawRunning(t)
		end := rapid.SampledFrom([]lifecycle.End{failing, succeeding}).Draw(t, "end")

		interim := old.DeepCopy()
		lifecycle.EnterInterim(&interim.Status, end, Noon())
		accepted(t, "interim", interim, old)
		Same(t, "outcome", jobstatus.OutcomeOf(interim).Decided(), true)
		Same(t, "finished", jobstatus.Finished(interim) == nil, true)

		last := interim.DeepCopy()
		terminating := rapid.Int32Range(0, 1).Draw(t, "terminating")
		entered := lifecycle.EnterTerminal(&last.Status, end, terminating, Noon())
		accepted(t, "terminal", last, interim)
		busy := old.Status.Active > 0 || terminating > 0 || old.Status.UncountedTerminatedPods != nil
		Same(t, "entered", entered, !busy)
		if !entered {
			Same(t, "a status that is not ready", last, interim)
			return
		}
		Same(t, "the terminal status: what is invalid", validation.Status(last), nil)
		Same(t, "terminal condition", jobstatus.Finished(last).Type, end.Terminal())
		Same(t, "outcome", jobstatus.OutcomeOf(last).Terminal(), true)
		if last.Status.StartTime == nil || end.Succeeds() != (last.Status.CompletionTime != nil) {
			t.Errorf("start time %v, completion time %v", last.Status.StartTime, last.Status.CompletionTime)
		}
	})
}

// The functions do not change the list of conditions that the caller passes, nor the memory
// behind its end.
func TestRandom_conditionsAreNotShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		conditions := append(make([]batchv1.JobCondition, 0, 9), DrawConditions(t)...)
		before := append([]batchv1.JobCondition(nil), conditions[:9:9]...)
		for _, enter := range []func(*batchv1.JobStatus){
			func(st *batchv1.JobStatus) { lifecycle.EnterInterim(st, failing, Noon()) },
			func(st *batchv1.JobStatus) { lifecycle.EnterTerminal(st, failing, 0, Noon()) },
			func(st *batchv1.JobStatus) { lifecycle.Suspend(st, true, Noon()) },
			func(st *batchv1.JobStatus) { lifecycle.Suspend(st, false, Noon()) },
		} {
			enter(&batchv1.JobStatus{Conditions: conditions})
			Same(t, "the conditions and the memory behind them", conditions[:9], before)
		}
	})
}

// A completion time that equals the start time is a time of its own.
func TestEnter_sharesNothing(t *testing.T) {
	start := After(5)
	out := &batchv1.JobStatus{StartTime: &start, Conditions: conditions(Yes(batchv1.JobSuccessCriteriaMet))}
	if !lifecycle.EnterTerminal(out, succeeding, 0, Noon()) || out.CompletionTime == out.StartTime {
		t.Errorf("the completion time is %v, the start time %v, want two of the same value", out.CompletionTime, out.StartTime)
	}
}
