package jobstatus_test

// Defects that the Job controller and programs that read Jobs have had. kN in a test name is
// issue or pull request N of kubernetes/kubernetes. A comment describes the defect first.

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// indexedJob returns an Indexed Job with these indexes in its status.
func indexedJob(completions int32, completed string, failed *string) *batchv1.Job {
	return &batchv1.Job{
		Spec:   batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: &completions},
		Status: batchv1.JobStatus{CompletedIndexes: completed, FailedIndexes: failed},
	}
}

// fluxcd, argo, karmada, trivy, keptn: they read only the first or the last condition.
// Here the order of the conditions does not matter.
func TestLesson_conditionsInAnyOrder(t *testing.T) {
	other, last := No(batchv1.JobSuspended), Yes(batchv1.JobFailed)
	for _, job := range []*batchv1.Job{WithConditions(other, last), WithConditions(last, other)} {
		Same(t, "phase", jobstatus.OutcomeOf(job).Phase, jobstatus.Failed)
		Same(t, "finished", jobstatus.Finished(job).Type, batchv1.JobFailed)
		Same(t, "the status alone", jobstatus.OutcomeOf(&batchv1.Job{Status: job.Status}), jobstatus.OutcomeOf(job))
	}
}

// kueue#13163, #12670: a queue needs to know how many pods a Job still holds, and how many
// of its indexes are finished.
func TestLesson_kueue_quota(t *testing.T) {
	job := indexedJob(10, "0-3", new("3-5"))
	job.Status.Active, job.Status.Terminating = 2, new(int32(1))
	Same(t, "held", jobstatus.PodsHeld(job), int32(3))
	Same(t, "finished", jobstatus.IndexesFinished(job), 6)
}

// jobset#928: a decided Job was treated as terminal.
func TestLesson_jobset928_decidedIsNotTerminal(t *testing.T) {
	got := jobstatus.OutcomeOf(WithConditions(Yes(batchv1.JobFailureTarget)))
	Same(t, "decided, terminal", []bool{got.Decided(), got.Terminal()}, []bool{true, false})
}

// Fields without their defaults caused panics.
func TestLesson_k121011_nothingPanics(t *testing.T) {
	Same(t, "Finished", jobstatus.Finished(nil), nil)
	Same(t, "Patch", jobstatus.Patch("", "", nil), nil)
	Same(t, "OutcomeOf", jobstatus.OutcomeOf(nil), jobstatus.Outcome{Phase: jobstatus.Running})
	Same(t, "Indexes", jobstatus.Indexes(nil), jobstatus.IndexSets{})
	Same(t, "IndexesFinished", jobstatus.IndexesFinished(nil), 0)
	Same(t, "PodsHeld", jobstatus.PodsHeld(nil), int32(0))
	Same(t, "Reclaimable", jobstatus.Reclaimable(nil), int32(0))
	Same(t, "DemandOf", decide.DemandOf(nil), decide.Demand{})
	Same(t, "DemandWithPods", decide.DemandWithPods(nil, nil, tracking.Keys{}), decide.Demand{})
	Same(t, "Suspension", jobstatus.Suspension{}.After(nil), jobstatus.Suspension{})
}

// Kueue stores the count while the Job is suspended too, and its webhook refuses one that falls. The names are those of
// its tests and bug reports.
func TestReclaimable(t *testing.T) {
	for name, tc := range map[string]struct {
		spec   string
		status string
		want   int32
	}{
		"new":                        {`{"parallelism":3,"completions":3,"suspend":true}`, `{}`, 0},
		"suspended after a success":  {`{"parallelism":3,"completions":3,"suspend":true}`, `{"succeeded":1}`, 1},
		"one evicted, one succeeded": {`{"parallelism":3,"completions":3}`, `{"active":2,"succeeded":1,"terminating":1}`, 1},
		"the end is decided": {`{"parallelism":3,"completions":3}`,
			`{"terminating":2,"succeeded":1,"conditions":[{"type":"FailureTarget","status":"True"}]}`, 1},
		"one is left":                        {`{"parallelism":1,"completions":3}`, `{"active":1,"succeeded":2}`, 0},
		"half of the indexes":                {`{"parallelism":8,"completions":8,"completionMode":"Indexed"}`, `{"succeeded":4,"completedIndexes":"0-3"}`, 4},
		"counters, but no indexes":           {`{"parallelism":8,"completions":8,"completionMode":"Indexed"}`, `{"succeeded":4}`, 0},
		"failed indexes, kueue#13482":        {`{"parallelism":3,"completions":3,"completionMode":"Indexed"}`, `{"completedIndexes":"0","failedIndexes":"1"}`, 2},
		"scaled down, kueue#13117":           {`{"parallelism":10,"completions":20}`, `{"active":3,"succeeded":17}`, 7},
		"indexes scaled down, kueue#13117":   {`{"parallelism":10,"completions":10,"completionMode":"Indexed"}`, `{"completedIndexes":"0-8,12-15"}`, 9},
		"index 4 is removed, kueue#13552":    {`{"parallelism":3,"completions":3,"completionMode":"Indexed"}`, `{"failedIndexes":"4"}`, 0},
		"fewer completions than parallelism": {`{"parallelism":8,"completions":4}`, `{"active":3,"succeeded":1}`, 1},
		"more successes than completions":    {`{"parallelism":8,"completions":4}`, `{"succeeded":6}`, 4},
		"no completions":                     {`{"parallelism":0,"completions":0}`, `{}`, 0},
		"defaults":                           {`{}`, `{"succeeded":1}`, 1},
		"work queue":                         {`{"parallelism":4}`, `{"active":3,"failed":2}`, 0},
		"work queue with a success":          {`{"parallelism":4}`, `{"active":3,"succeeded":1}`, 1},
		"work queue, one has failed since":   {`{"parallelism":4}`, `{"active":2,"succeeded":1,"failed":1}`, 1},
		"work queue, scaled down":            {`{"parallelism":2}`, `{"active":3,"succeeded":1}`, 0},
	} {
		job := &batchv1.Job{
			Spec:   FromJSON[batchv1.JobSpec]([]byte(tc.spec)),
			Status: FromJSON[batchv1.JobStatus]([]byte(tc.status)),
		}
		Same(t, name, jobstatus.Reclaimable(job), tc.want)
	}
}
