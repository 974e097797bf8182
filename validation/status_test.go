package validation

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// at returns a time some seconds after the start time of the tests.
func at(seconds float64) *metav1.Time {
	return &metav1.Time{Time: time.Unix(1_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))}
}

func is(kinds ...batchv1.JobConditionType) []batchv1.JobCondition {
	var conditions []batchv1.JobCondition
	for _, kind := range kinds {
		conditions = append(conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	return conditions
}

const (
	complete      = batchv1.JobComplete
	failed        = batchv1.JobFailed
	target        = batchv1.JobFailureTarget
	criteria      = batchv1.JobSuccessCriteriaMet
	suspendedCond = batchv1.JobSuspended
)

// Three valid statuses.

func running() batchv1.JobStatus {
	return batchv1.JobStatus{StartTime: at(0), Active: 2, Ready: new(int32(2)), Terminating: new(int32(1)), Succeeded: 1, Failed: 1}
}

func completed() batchv1.JobStatus {
	return batchv1.JobStatus{StartTime: at(0), CompletionTime: at(9), Succeeded: 5, Failed: 1, Conditions: is(criteria, complete)}
}

func hasFailed() batchv1.JobStatus {
	return batchv1.JobStatus{StartTime: at(0), Succeeded: 1, Failed: 5, Conditions: is(target, failed)}
}

// withStatus returns a stored Job of five indexes with a status.
func withStatus(status batchv1.JobStatus, edits ...func(*batchv1.Job)) *batchv1.Job {
	job := prepared(append([]func(*batchv1.Job){perIndex(5), func(j *batchv1.Job) { j.ResourceVersion = "1" }}, edits...)...)
	job.Status = status
	return job
}

// edited returns a status with something changed.
func edited(status batchv1.JobStatus, edit func(*batchv1.JobStatus)) batchv1.JobStatus {
	edit(&status)
	return status
}

type statusCase struct {
	rule     string // the only rule that the status breaks
	was, now batchv1.JobStatus
	spec     func(*batchv1.Job)
	want     string
}

const conditionsWrong = "status.conditions: Invalid value: "

var statusCases = []statusCase{
	{rule: "NegativeCount", was: batchv1.JobStatus{}, now: batchv1.JobStatus{Active: -1}, want: "status.active: Invalid value: must be greater than or equal to 0"},
	{rule: "NegativeCount", was: batchv1.JobStatus{Succeeded: -1}, now: batchv1.JobStatus{Succeeded: -1}, want: "status.succeeded: Invalid value: must be greater than or equal to 0"},
	{rule: "NegativeCount", was: batchv1.JobStatus{Failed: -1}, now: batchv1.JobStatus{Failed: -1}, want: "status.failed: Invalid value: must be greater than or equal to 0"},
	{rule: "NegativeCount", now: batchv1.JobStatus{Ready: new(int32(-1))}, want: "status.ready: Invalid value: must be greater than or equal to 0"},
	{rule: "NegativeCount", now: batchv1.JobStatus{Terminating: new(int32(-1))}, want: "status.terminating: Invalid value: must be greater than or equal to 0"},
	{rule: "EmptyOrDuplicateUncountedPod", now: uncounted([]types.UID{""}, nil), want: "status.uncountedTerminatedPods.succeeded[0]: Invalid value: must not be empty"},
	{rule: "EmptyOrDuplicateUncountedPod", now: uncounted(nil, []types.UID{"a", "a"}), want: "status.uncountedTerminatedPods.failed[1]: Duplicate value"},
	{
		// k#125410: a UID that is in both lists.
		rule: "EmptyOrDuplicateUncountedPod", now: uncounted([]types.UID{"a", "b"}, []types.UID{"c", "a"}),
		want: "status.uncountedTerminatedPods.failed[1]: Duplicate value",
	},
	{
		rule: "NotCompleteJobWithCompletionTime", was: running(), now: edited(running(), func(s *batchv1.JobStatus) { s.CompletionTime = at(1) }),
		want: "status.completionTime: Invalid value: cannot set completionTime when there is no Complete=True condition",
	},
	{
		rule: "CompleteJobWithoutCompletionTime", was: running(), now: edited(completed(), func(s *batchv1.JobStatus) { s.CompletionTime = nil }),
		want: "status.completionTime: Required value: completionTime is required for Complete jobs",
	},
	{
		// The zero time is sent to the API server as null.
		rule: "CompleteJobWithoutCompletionTime", was: running(), now: edited(completed(), func(s *batchv1.JobStatus) { s.CompletionTime = &metav1.Time{} }),
		want: "status.completionTime: Required value: completionTime is required for Complete jobs",
	},
	{
		rule: "CompletionTimeBeforeStartTime", was: running(), now: edited(completed(), func(s *batchv1.JobStatus) { s.CompletionTime = at(-1) }),
		want: "status.completionTime: Invalid value: must be equal to or after `startTime`",
	},
	{
		rule: "FailedJobWithoutFailureTarget", was: running(), now: edited(hasFailed(), func(s *batchv1.JobStatus) { s.Conditions = is(failed) }),
		want: conditionsWrong + "cannot set Failed=True condition without the FailureTarget=true condition",
	},
	{
		rule: "CompleteJobWithoutSuccessCriteriaMet", was: running(), now: edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(complete) }),
		want: conditionsWrong + "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
	},
	{
		// k#123775: finished with pods left.
		rule: "FinishedJobWithActivePods", was: running(), now: edited(completed(), func(s *batchv1.JobStatus) { s.Active = 1 }),
		want: "status.active: Invalid value: active>0 is invalid for finished job",
	},
	{
		rule: "FinishedJobWithoutStartTime", was: batchv1.JobStatus{}, now: edited(hasFailed(), func(s *batchv1.JobStatus) { s.StartTime = nil }),
		want: "status.startTime: Required value: startTime is required for finished job",
	},
	{
		rule: "FinishedJobWithUncountedTerminatedPods", was: running(),
		now: edited(hasFailed(), func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = uncounted(nil, []types.UID{"a"}).UncountedTerminatedPods
		}),
		want: "status.uncountedTerminatedPods: Invalid value: must be empty for finished job",
	},
	{
		rule: "FinishedJobWithUncountedTerminatedPods", was: running(),
		now: edited(hasFailed(), func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = uncounted([]types.UID{"a"}, nil).UncountedTerminatedPods
		}),
		want: "status.uncountedTerminatedPods: Invalid value: must be empty for finished job",
	},
	{
		rule: "FinishedJobWithUncountedTerminatedPods", was: running(),
		now: edited(hasFailed(), func(s *batchv1.JobStatus) {
			s.UncountedTerminatedPods = uncounted([]types.UID{"a"}, []types.UID{"b"}).UncountedTerminatedPods
		}),
		want: "status.uncountedTerminatedPods: Invalid value: must be empty for finished job",
	},
	{rule: "InvalidCompletedIndexes", now: batchv1.JobStatus{CompletedIndexes: "5"}, want: `status.completedIndexes: Invalid value: error parsing completedIndexes: too large index: "5"`},
	{rule: "InvalidCompletedIndexes", now: batchv1.JobStatus{CompletedIndexes: "3,1"}, want: `status.completedIndexes: Invalid value: error parsing completedIndexes: non-increasing order, previous: 3, current: 1`},
	{rule: "InvalidFailedIndexes", now: batchv1.JobStatus{FailedIndexes: new("x")}, want: `status.failedIndexes: Invalid value: error parsing failedIndexes: cannot convert string to integer for index: "x"`},
	{
		rule: "CompletedIndexesForNonIndexedJob", now: batchv1.JobStatus{CompletedIndexes: "0"},
		spec: func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.BackoffLimitPerIndex = new(batchv1.NonIndexedCompletion), nil
		},
		want: "status.completedIndexes: Invalid value: cannot set non-empty completedIndexes when non-indexed completion mode",
	},
	{
		rule: "FailedIndexesForNoBackoffLimitPerIndex", now: batchv1.JobStatus{FailedIndexes: new("x")},
		spec: func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = nil },
		want: "status.failedIndexes: Invalid value: cannot set non-null failedIndexes when backoffLimitPerIndex is null",
	},
	{
		// An index that is both completed and failed blocks all later updates of the lists.
		rule: "FailedIndexesOverlappingCompleted", now: batchv1.JobStatus{CompletedIndexes: "0-3", FailedIndexes: new("2,4")},
		want: "status.failedIndexes: Invalid value: failedIndexes and completedIndexes overlap at index: 2",
	},
	{
		rule: "FinishedJobWithTerminatingPods", was: running(), now: edited(hasFailed(), func(s *batchv1.JobStatus) { s.Terminating = new(int32(1)) }),
		want: "status.terminating: Invalid value: terminating>0 is invalid for finished job",
	},
	{
		// k#139428: active taken from a literal.
		rule: "MoreReadyThanActivePods", was: running(), now: edited(running(), func(s *batchv1.JobStatus) { s.Active = 0 }),
		want: "status.ready: Invalid value: cannot set more ready pods than active",
	},
	{
		rule: "SuccessCriteriaMetWithFailureTarget", now: batchv1.JobStatus{Conditions: is(criteria, target)},
		want: conditionsWrong + "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
	},
	{
		// This error is reported although neither condition has just changed.
		rule: "CompleteWithoutSuccessCriteriaMetForSuccessPolicy",
		was:  edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(complete) }),
		now:  edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(complete) }),
		spec: func(j *batchv1.Job) {
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
		},
		want: conditionsWrong + "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
	},
	{
		rule: "DisablingTerminalCondition", was: batchv1.JobStatus{Conditions: is(target)}, now: batchv1.JobStatus{},
		want: conditionsWrong + "cannot disable the terminal FailureTarget=True condition",
	},
	{
		rule: "DisablingTerminalCondition", was: hasFailed(), now: edited(hasFailed(), func(s *batchv1.JobStatus) { s.Conditions = is(target) }),
		want: conditionsWrong + "cannot disable the terminal Failed=True condition",
	},
	{
		rule: "DisablingTerminalCondition", was: completed(), now: edited(completed(), func(s *batchv1.JobStatus) { s.Conditions, s.CompletionTime = is(criteria), nil }),
		want: conditionsWrong + "cannot disable the terminal Complete=True condition",
	},
	{rule: "DecreasingFailedCounter", was: batchv1.JobStatus{Failed: 2}, now: batchv1.JobStatus{Failed: 1}, want: "status.failed: Invalid value: cannot decrease the failed counter"},
	{rule: "DecreasingSucceededCounter", was: batchv1.JobStatus{Succeeded: 2}, now: batchv1.JobStatus{Succeeded: 1}, want: "status.succeeded: Invalid value: cannot decrease the succeeded counter"},
	{
		rule: "DecreasingSucceededCounter", was: batchv1.JobStatus{Succeeded: 2}, now: batchv1.JobStatus{Succeeded: 1},
		spec: func(j *batchv1.Job) {
			*j.Spec.CompletionMode, j.Spec.Parallelism = batchv1.NonIndexedCompletion, j.Spec.Completions
		},
		want: "status.succeeded: Invalid value: cannot decrease the succeeded counter",
	},
	{
		rule: "MutatingCompletionTime", was: completed(), now: edited(completed(), func(s *batchv1.JobStatus) { s.CompletionTime = at(10) }),
		want: "status.completionTime: Invalid value: field is immutable",
	},
	{
		rule: "StartTimeUpdateForUnsuspendedJob", was: running(), now: edited(running(), func(s *batchv1.JobStatus) { s.StartTime = at(1) }),
		want: "status.startTime: Invalid value: field is immutable for unsuspended job once set",
	},
	{
		rule: "DisablingSuccessCriteriaMet", was: batchv1.JobStatus{Conditions: is(criteria)}, now: batchv1.JobStatus{},
		want: conditionsWrong + "cannot disable the SuccessCriteriaMet=True condition",
	},
	{
		rule: "SuccessCriteriaMetAfterComplete", was: edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(complete) }), now: completed(),
		want: conditionsWrong + "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
	},
}

func uncounted(succeeded, failed []types.UID) batchv1.JobStatus {
	return batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed}}
}

// These three cannot be broken alone: a Job that is both complete and failed
// lacks an interim condition or has one too many.
var brokenTogether = map[string]batchv1.JobStatus{
	"CompleteJobWithFailedCondition":        edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(criteria, complete, failed) }),
	"CompleteJobWithFailureTargetCondition": edited(completed(), func(s *batchv1.JobStatus) { s.Conditions = is(criteria, complete, target) }),
	"SuccessCriteriaMetWithFailed":          edited(hasFailed(), func(s *batchv1.JobStatus) { s.Conditions = is(criteria, failed) }),
}

func ruleNamed(name string) *statusRule {
	for i := range statusRules {
		if statusRules[i].name == name {
			return &statusRules[i]
		}
	}
	return nil
}

func TestStatusUpdateRules(t *testing.T) {
	for _, c := range statusCases {
		t.Run(c.rule, func(t *testing.T) {
			var edits []func(*batchv1.Job)
			if c.spec != nil {
				edits = append(edits, c.spec)
			}
			job, old := withStatus(c.now, edits...), withStatus(c.was, edits...)
			wantErrors(t, StatusUpdate(job, old), c.want)

			// The named rule is the one that reports the error.
			rule := ruleNamed(c.rule)
			if rule == nil {
				t.Fatalf("no rule is named %s", c.rule)
			}
			ch := &change{now: viewOf(&job.Status, &old.Spec), was: viewOf(&old.Status, &old.Spec)}
			if rule.state != nil {
				wantErrors(t, rule.state(&ch.now), c.want)
				if all := said(Status(job)); !slices.Contains(all, c.want) {
					t.Errorf("Status says %q, want %q among them", all, c.want)
				}
			} else {
				wantErrors(t, rule.step(ch), c.want)
			}

			// A rule with a condition reports nothing if nothing changes.
			if rule.when != nil {
				wantErrors(t, StatusUpdate(job, job.DeepCopy()))
			}
		})
	}
}

func TestStatusRulesBrokenTogether(t *testing.T) {
	for name, now := range brokenTogether {
		t.Run(name, func(t *testing.T) {
			job := withStatus(now)
			v := viewOf(&job.Status, &job.Spec)
			got := said(ruleNamed(name).state(&v))
			if len(got) != 1 {
				t.Fatalf("got %q, want one error", got)
			}
			if all := said(StatusUpdate(job, withStatus(running()))); !slices.Contains(all, got[0]) {
				t.Errorf("StatusUpdate says %q, want %q among them", all, got[0])
			}
		})
	}
}

// Each rule has a case, so that the table and the tests grow together.
func TestEveryStatusRuleHasACase(t *testing.T) {
	var tested []string
	for _, c := range statusCases {
		tested = append(tested, c.rule)
	}
	for name := range brokenTogether {
		tested = append(tested, name)
	}
	for _, rule := range statusRules {
		if !slices.Contains(tested, rule.name) {
			t.Errorf("rule %s has no case", rule.name)
		}
	}
	const want = 29 // 22 that are options in the API server, and 7 that are not
	Same(t, "the number of rules", len(statusRules), want)
}

func TestStatusAccepts(t *testing.T) {
	for name, s := range map[string]batchv1.JobStatus{"zero": {}, "running": running(), "complete": completed(), "failed": hasFailed()} {
		wantErrors(t, Status(withStatus(s)))
		wantErrors(t, StatusUpdate(withStatus(s), withStatus(batchv1.JobStatus{})))
		if t.Failed() {
			t.Fatalf("in status %s", name)
		}
	}
}

// k#132144: no completions and suspended.
func TestStatusSuspendedWithNothingToDo(t *testing.T) {
	done := edited(completed(), func(s *batchv1.JobStatus) { s.StartTime = nil })
	nothing := func(j *batchv1.Job) { j.Spec.Completions, j.Spec.Suspend = new(int32(0)), new(true) }
	wantErrors(t, Status(withStatus(done, nothing)))
	wantErrors(t, StatusUpdate(withStatus(done, nothing), withStatus(batchv1.JobStatus{}, nothing)))
	for name, edit := range map[string]func(*batchv1.Job){
		"not suspended": func(j *batchv1.Job) { j.Spec.Completions = new(int32(0)) },
		"work to do":    suspendedNew,
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, Status(withStatus(done, edit)), "status.startTime: Required value: startTime is required for finished job")
		})
	}
}

// k#134521: suspend, resume and suspend again.
func TestStatusUpdateSuspendAndResume(t *testing.T) {
	stopped := batchv1.JobStatus{StartTime: at(0), Conditions: is(suspendedCond)}
	resumed := batchv1.JobStatus{StartTime: at(5), Conditions: []batchv1.JobCondition{{Type: suspendedCond, Status: corev1.ConditionFalse}}}
	notYet := batchv1.JobStatus{Conditions: is(suspendedCond)}
	wantErrors(t, StatusUpdate(withStatus(resumed), withStatus(stopped)))
	wantErrors(t, StatusUpdate(withStatus(notYet, suspendedNew), withStatus(resumed, suspendedNew)))
	wantErrors(t, StatusUpdate(withStatus(resumed), withStatus(notYet)))
	// It is no resume if the condition is gone, or unknown.
	gone := edited(resumed, func(s *batchv1.JobStatus) { s.Conditions = nil })
	unknown := edited(resumed, func(s *batchv1.JobStatus) {
		s.Conditions = []batchv1.JobCondition{{Type: suspendedCond, Status: corev1.ConditionUnknown}}
	})
	for _, now := range []batchv1.JobStatus{gone, unknown} {
		wantErrors(t, StatusUpdate(withStatus(now), withStatus(stopped)), "status.startTime: Invalid value: field is immutable for unsuspended job once set")
	}
	// A new start time without a recorded resume.
	again := edited(resumed, func(s *batchv1.JobStatus) { s.StartTime = at(6) })
	wantErrors(t, StatusUpdate(withStatus(again), withStatus(resumed)), "status.startTime: Invalid value: field is immutable for unsuspended job once set")
}

// An elastic Indexed Job that was scaled down loses succeeded indexes.
func TestStatusUpdateScaledDown(t *testing.T) {
	elastic := scaled(3, new(int32(3)))
	was := batchv1.JobStatus{Succeeded: 5, CompletedIndexes: "0-4"}
	wantErrors(t, StatusUpdate(withStatus(batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0-2"}, elastic), withStatus(was, elastic)))
	// Indexes past the end may stay until the controller cuts them.
	wantErrors(t, StatusUpdate(withStatus(was, elastic), withStatus(was, elastic)))
	wantErrors(t, Status(withStatus(was, elastic)), `status.completedIndexes: Invalid value: error parsing completedIndexes: too large index: "4"`)
}

// Times are compared as the API server sees them, in seconds.
func TestStatusUpdateTimes(t *testing.T) {
	old := withStatus(edited(completed(), func(s *batchv1.JobStatus) { s.StartTime, s.CompletionTime = at(0), at(0) }))
	job := withStatus(edited(completed(), func(s *batchv1.JobStatus) {
		s.StartTime = &metav1.Time{Time: at(0.7).In(time.FixedZone("", 3600))}
		s.CompletionTime = at(0.3)
	}))
	wantErrors(t, StatusUpdate(job, old))
	wantErrors(t, Status(job))
	// A nil time and the zero time are the same.
	none, zero := withStatus(batchv1.JobStatus{}), withStatus(batchv1.JobStatus{StartTime: &metav1.Time{}})
	wantErrors(t, StatusUpdate(zero, none))
	wantErrors(t, StatusUpdate(withStatus(running()), zero))
}

// As in the API server, the rules read the spec of the stored Job.
func TestStatusUpdateReadsTheOldSpec(t *testing.T) {
	old := withStatus(batchv1.JobStatus{})
	job := withStatus(batchv1.JobStatus{CompletedIndexes: "7"}, indexedJob(10))
	wantErrors(t, StatusUpdate(job, old), `status.completedIndexes: Invalid value: error parsing completedIndexes: too large index: "7"`)
}

// k#125909: FailureTarget=False does not count as FailureTarget.
func TestStatusReadsOnlyTrueConditions(t *testing.T) {
	s := edited(completed(), func(s *batchv1.JobStatus) {
		s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: target, Status: corev1.ConditionFalse}, batchv1.JobCondition{Type: failed, Status: corev1.ConditionUnknown})
	})
	wantErrors(t, Status(withStatus(s)))
}

func TestStatusUpdateChecksMetadata(t *testing.T) {
	job, old := withStatus(running()), withStatus(running())
	job.ResourceVersion = ""
	job.Finalizers = []string{"mine"}
	wantErrors(t, StatusUpdate(job, old),
		"metadata.resourceVersion: Invalid value: must be specified for an update",
		"metadata.finalizers[0]: Invalid value: name is neither a standard finalizer name nor is it fully qualified")
}

func TestStatusDeterministic(t *testing.T) {
	job := withStatus(batchv1.JobStatus{Active: -1, CompletedIndexes: "x", FailedIndexes: new("y"), Conditions: is(complete, failed)})
	first := said(Status(job))
	for range 10 {
		Same(t, "the errors, in their order", said(Status(job)), first)
	}
}
