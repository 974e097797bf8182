package replace_test

// The inputs and results of other projects' tests, and of their bug reports. "name#N" is an issue
// or a pull request of that project.

import (
	"math"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/examples/replace"
	"github.com/jobfate/jobfate/jobstatus"
)

// sized returns a Job with pods for this many completions.
func sized(parallelism, completions int32, status batchv1.JobStatus) *batchv1.Job {
	job := &batchv1.Job{Status: status}
	job.Namespace, job.Name, job.UID, job.ResourceVersion = "default", "job", "uid", "1"
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &parallelism, &completions, new(int32(6))
	return job
}

// indexed makes a Job Indexed; with failed indexes it has a backoff limit per index.
func indexed(job *batchv1.Job, completed, failed string) *batchv1.Job {
	job.Spec.CompletionMode, job.Status.CompletedIndexes = new(batchv1.IndexedCompletion), completed
	if failed != "" {
		job.Spec.BackoffLimitPerIndex, job.Status.FailedIndexes = new(int32(0)), &failed
	}
	return job
}

func condition(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: status}
}

func with(conditions ...batchv1.JobCondition) batchv1.JobStatus {
	return batchv1.JobStatus{Conditions: conditions}
}

// Kueue 0.19.2, TestTerminalIndexesCount. It needed three fixes: indexes beyond completions
// (kueue#13117, #13178), failed indexes (kueue#13482, #13486), both together (kueue#13552).
func TestKueueIndexes(t *testing.T) {
	for _, tc := range []struct {
		completed, failed string
		completions       int32
		want              int
	}{
		{"", "", 10, 0},
		{"0-9", "", 0, 0},
		{"0", "", 10, 1},
		{"", "1", 10, 1},
		{"0-4", "", 10, 5},
		{"0-4,7,9-11", "", 10, 7},
		{"0-2,7", "3-5,8", 10, 8},
		{"0-4", "3-7", 10, 8}, // an index in both lists counts once
		{"0-9", "2-3", 10, 10},
		{"0-8", "", 10, 9},
		{"0-14", "", 10, 10}, // 10 to 14 have been removed
		{"5-19", "", 10, 5},
		{"10-19", "", 10, 0},
		{"", "5-19", 10, 5},
		{"", "10-19", 10, 0},
		{"", "4", 3, 0},
		{"0-1", "2-19", 5, 5},
		{"0-4", "", 3, 3},
		{"3,5,7", "", 10, 3},
		{"3,5,12", "", 10, 2},
		{"abc,0-2", "", 10, 3}, // damaged parts are skipped
		{"0-x,4", "", 10, 1},
	} {
		if got := jobstatus.IndexesFinished(indexed(sized(1, tc.completions, batchv1.JobStatus{}), tc.completed, tc.failed)); got != tc.want {
			t.Errorf("completed %q, failed %q, completions %d: %d indexes have finished, want %d", tc.completed, tc.failed, tc.completions, got, tc.want)
		}
	}
}

// Kueue 0.19.2, TestReclaimablePods, and the states in the bug reports.
func TestKueueReclaimable(t *testing.T) {
	status := func(active, succeeded, failed int32) batchv1.JobStatus {
		return batchv1.JobStatus{Active: active, Succeeded: succeeded, Failed: failed}
	}
	retried := indexed(sized(8, 8, status(7, 1, 1)), "0", "")
	retried.Spec.BackoffLimitPerIndex = new(int32(1))
	for name, tc := range map[string]struct {
		job                   *batchv1.Job
		reclaimable, reserved int64
	}{
		"half of the indexes are completed":      {indexed(sized(8, 8, status(4, 4, 0)), "0-3", ""), 4, 4},
		"a failed index that is tried again":     {retried, 1, 7},
		"one completed, one failed for good":     {indexed(sized(8, 8, status(6, 1, 1)), "0", "1"), 2, 6},
		"counters, but no indexes":               {indexed(sized(8, 8, status(4, 4, 0)), "", ""), 0, 8},
		"kueue#13482":                            {indexed(sized(3, 3, status(1, 1, 1)), "0", "1"), 2, 1},
		"kueue#13117, 15 of 20":                  {sized(20, 20, status(5, 15, 0)), 15, 5},
		"kueue#13117, and parallelism 10":        {sized(10, 20, status(5, 15, 0)), 5, 5},
		"kueue#13117, and two more":              {sized(10, 20, status(3, 17, 0)), 7, 3},
		"kueue#13117, and two more, one is left": {sized(10, 20, status(1, 19, 0)), 9, 1},
		"kueue#13117, Indexed, scaled to 10":     {indexed(sized(10, 10, status(1, 9, 0)), "0-8", ""), 9, 1},
		"kueue#13552, index 4 is removed":        {indexed(sized(3, 3, status(3, 0, 1)), "", "4"), 0, 3},
	} {
		got, left := replace.Reclaimable(tc.job), replace.Reserved(tc.job)
		if left -= got; got != tc.reclaimable || left != tc.reserved {
			t.Errorf("%s: reclaims %d, keeps %d, want %d and %d", name, got, left, tc.reclaimable, tc.reserved)
		}
	}
}

// KubeRay 1.6.2, TestIsJobFinished; Karmada 1.16.0, TestGetJobFinishedStatus; kstatus 0.37.2,
// TestJobStatus. KubeRay counts a decided failure (kuberay#4836), the others do not.
func TestFinished(t *testing.T) {
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	for name, tc := range map[string]struct {
		status          batchv1.JobStatus
		finished, ended batchv1.JobConditionType
	}{
		"no conditions":            {with(), "", ""},
		"complete":                 {with(condition(batchv1.JobComplete, yes)), "Complete", "Complete"},
		"failed":                   {with(condition(batchv1.JobFailed, yes)), "Failed", "Failed"},
		"failure decided":          {with(condition(batchv1.JobFailureTarget, yes)), "Failed", ""},
		"failure not decided":      {with(condition(batchv1.JobFailureTarget, no)), "", ""},
		"failure decided, failed":  {with(condition(batchv1.JobFailureTarget, yes), condition(batchv1.JobFailed, yes)), "Failed", "Failed"},
		"suspended":                {with(condition(batchv1.JobSuspended, yes)), "", ""},
		"not known to be complete": {with(condition(batchv1.JobComplete, unknown)), "", ""},
		"neither":                  {with(condition(batchv1.JobFailed, no), condition(batchv1.JobComplete, no)), "", ""},
	} {
		job := &batchv1.Job{Status: tc.status}
		finished, ok := replace.Finished(job)
		if finished != tc.finished || ok != (tc.finished != "") {
			t.Errorf("%s: finished %q, %t, want %q", name, finished, ok, tc.finished)
		}
		ended, ok := replace.Ended(job)
		if ended != tc.ended || ok != (tc.ended != "") {
			t.Errorf("%s: ended %q, %t, want %q", name, ended, ok, tc.ended)
		}
	}
}

// Argo CD's health of a Job, gitops-engine 89c110b: a suspended Job loses the message of its condition
// (argo-cd#28738), a resumed one is Healthy while it runs, and Failed=False is a failure.
func TestArgoCDHealth(t *testing.T) {
	for name, tc := range map[string]struct {
		condition batchv1.JobCondition
		want      jobstatus.Outcome
	}{
		"suspended": {
			batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Message: "Job suspended"},
			jobstatus.Outcome{Phase: jobstatus.Suspended, Message: "Job suspended"},
		},
		"resumed": {
			batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Message: "Job resumed"},
			jobstatus.Outcome{Phase: jobstatus.Running},
		},
		"not failed": {condition(batchv1.JobFailed, corev1.ConditionFalse), jobstatus.Outcome{Phase: jobstatus.Running}},
	} {
		if got := jobstatus.OutcomeOf(&batchv1.Job{Status: with(tc.condition)}); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// Helm 3.20.0, Test_ReadyChecker_jobReady, with the conditions that the Job controller writes, and
// the bug reports. Helm compares counters, so it needed fixes for failed Jobs (helm#9950, #9285)
// and a limit of 0 (helm#9637); one with restartPolicy OnFailure is open (helm#30877).
func TestHelmReady(t *testing.T) {
	complete := condition(batchv1.JobComplete, corev1.ConditionTrue)
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "too many"}
	decided := failed
	decided.Type = batchv1.JobFailureTarget
	for name, tc := range map[string]struct {
		limit             int32
		succeeded, failed int32
		conditions        []batchv1.JobCondition
		ready, fails      bool
	}{
		"completed":                              {1, 1, 0, []batchv1.JobCondition{complete}, true, false},
		"not completed":                          {1, 0, 0, nil, false, false},
		"failures within the limit":              {1, 0, 1, nil, false, false},
		"completed after a retry":                {1, 1, 1, []batchv1.JobCondition{complete}, true, false},
		"failures beyond the limit":              {1, 0, 2, []batchv1.JobCondition{failed}, false, true},
		"completed, limit 0 (helm#9637)":         {0, 1, 0, []batchv1.JobCondition{complete}, true, false},
		"failed, limit 0":                        {0, 0, 1, []batchv1.JobCondition{failed}, false, true},
		"failed with OnFailure (helm#30877)":     {3, 0, 1, []batchv1.JobCondition{decided, failed}, false, true},
		"the failure is decided (helm#9285)":     {1, 0, 2, []batchv1.JobCondition{decided}, false, true},
		"limit 0, no pod yet (tuppr#532)":        {0, 0, 0, nil, false, false},
		"as many failures as allowed (tuppr)":    {3, 0, 3, nil, false, false},
		"one failed pod (secureCodeBox#2568)":    {3, 0, 1, []batchv1.JobCondition{failed}, false, true},
		"counted, but not complete (cnpg, 1.27)": {1, 1, 0, nil, false, false},
	} {
		job := sized(1, 1, batchv1.JobStatus{Succeeded: tc.succeeded, Failed: tc.failed, Conditions: tc.conditions})
		job.Spec.BackoffLimit = &tc.limit
		ready, err := replace.Ready(job)
		if ready != tc.ready || (err != nil) != tc.fails {
			t.Errorf("%s: ready %t, %v; want %t, an error: %t", name, ready, err, tc.ready, tc.fails)
		}
	}
}

// JobSet 0.12.0, TestFailurePolicyRuleIsApplicable. Its rules compare reasons as strings, so a
// reason that names a rule of the pod failure policy (KEP-4443) matches none of them.
func TestJobSetReasons(t *testing.T) {
	for _, tc := range []struct {
		reason string
		of     []string
		want   bool
	}{
		{"BackoffLimitExceeded", nil, true},
		{"BackoffLimitExceeded", []string{"BackoffLimitExceeded"}, true},
		{"DeadlineExceeded", []string{"BackoffLimitExceeded"}, false},
		{"PodFailurePolicy", []string{"PodFailurePolicy"}, true},
		{"PodFailurePolicy_ExitCode42", []string{"PodFailurePolicy"}, true},
		{"PodFailurePolicy_ExitCode42", []string{"PodFailurePolicy_ExitCode42"}, true},
		{"PodFailurePolicy", []string{"PodFailurePolicy_ExitCode42"}, false},
	} {
		failed := condition(batchv1.JobFailed, corev1.ConditionTrue)
		failed.Reason = tc.reason
		if got := replace.FailedFor(&batchv1.Job{Status: with(failed)}, tc.of...); got != tc.want {
			t.Errorf("%s, one of %v: %t, want %t", tc.reason, tc.of, got, tc.want)
		}
		failed.Status = corev1.ConditionFalse
		if replace.FailedFor(&batchv1.Job{Status: with(failed)}, tc.of...) {
			t.Errorf("Failed=False with %s is a failure", tc.reason)
		}
	}
}

// Karmada wrote statuses that the API server rejects: a start time that moves (karmada#7135), an
// end without its interim condition (karmada#6414, #7844).
func TestKarmadaStatus(t *testing.T) {
	noon := time.Date(2026, time.January, 23, 2, 31, 44, 0, time.UTC)
	at := func(seconds int) *metav1.Time {
		return new(metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)))
	}
	stored := sized(3, 3, batchv1.JobStatus{Active: 3, StartTime: at(0)})
	for name, tc := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"the same start time":             {batchv1.JobStatus{Active: 2, Ready: new(int32(1)), StartTime: at(0)}, ""},
		"an earlier start (karmada#7135)": {batchv1.JobStatus{Active: 3, StartTime: at(-1)}, "field is immutable for unsuspended job once set"},
		"no start time":                   {batchv1.JobStatus{Active: 3}, "field is immutable for unsuspended job once set"},
		"Failed alone (karmada#7844)": {batchv1.JobStatus{StartTime: at(0), Failed: 3, Conditions: with(condition(batchv1.JobFailed, corev1.ConditionTrue)).Conditions},
			"cannot set Failed=True condition without the FailureTarget=true condition"},
		"Complete alone (karmada#6414)": {batchv1.JobStatus{StartTime: at(0), CompletionTime: at(9), Succeeded: 3, Conditions: with(condition(batchv1.JobComplete, corev1.ConditionTrue)).Conditions},
			"cannot set Complete=True condition without the SuccessCriteriaMet=true condition"},
		"both conditions": {batchv1.JobStatus{StartTime: at(0), CompletionTime: at(9), Succeeded: 3,
			Conditions: with(condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), condition(batchv1.JobComplete, corev1.ConditionTrue)).Conditions}, ""},
	} {
		switch err := replace.CheckStatus(stored, &tc.status); {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// Delays that overflow are zero or negative, so nothing waits any more: rbg#394 (base 30 s, from 59
// restarts), onos-lib-go#127 (from 40). rbg's first delay was twice the base.
func TestBackoffOverflow(t *testing.T) {
	policy := backoff.Policy{Base: 30 * time.Second, Cap: 600 * time.Second}
	for failures, want := range map[int32]time.Duration{
		0: 0, 1: 30 * time.Second, 2: time.Minute, 5: 8 * time.Minute, 6: 10 * time.Minute,
		40: 10 * time.Minute, 59: 10 * time.Minute, 60: 10 * time.Minute, 61: 10 * time.Minute, math.MaxInt32: 10 * time.Minute,
	} {
		if got := policy.Delay(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}
