package jobstatus_test

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// slowOutcome tries one phase after the other: "their order does not matter, and a condition that
// is not True is ignored. If a Job is both Failed and Complete, it has failed."
func slowOutcome(conditions []batchv1.JobCondition) (phase string, from *batchv1.JobCondition) {
	for _, step := range [][2]string{
		{"Failed", "Failed"}, {"Complete", "Complete"}, {"SuccessCriteriaMet", "Succeeding"}, {"FailureTarget", "Failing"}, {"Suspended", "Suspended"},
	} {
		for i, c := range conditions {
			if string(c.Type) == step[0] && string(c.Status) == "True" {
				return step[1], &conditions[i]
			}
		}
	}
	return "Running", &batchv1.JobCondition{}
}

func outcomeHolds(t rapid.TB, job *batchv1.Job) {
	t.Helper()
	phase, from := slowOutcome(job.Status.Conditions)
	got := jobstatus.OutcomeOf(job)
	Same(t, "outcome", got, jobstatus.Outcome{
		Phase: jobstatus.Phase(phase), Reason: from.Reason, Message: from.Message, Since: from.LastTransitionTime.Time,
	})
	var end *batchv1.JobCondition // the first of those that end the Job
	if i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed")
	}); i >= 0 {
		end = &job.Status.Conditions[i]
	}
	Same(t, "finished", jobstatus.Finished(job), end)
	Same(t, "terminal", got.Terminal(), end != nil)
	Same(t, "decided", got.Decided(), phase != "Running" && phase != "Suspended")
}

// indexesHold sorts all indexes below completions, one by one. An index in both lists is completed.
func indexesHold(t rapid.TB, job *batchv1.Job) {
	t.Helper()
	got, held := jobstatus.Indexes(job), int64(max(job.Status.Active, 0))
	if n := job.Status.Terminating; n != nil {
		held += int64(max(*n, 0))
	}
	Same(t, "PodsHeld", int64(jobstatus.PodsHeld(job)), min(held, math.MaxInt32))
	reserved, reclaimable := int32(1), jobstatus.Reclaimable(job)
	if n := job.Spec.Parallelism; n != nil {
		reserved = max(*n, 0)
	}
	if reclaimable < 0 || reclaimable > reserved {
		t.Errorf("%d of %d pods are reclaimable", reclaimable, reserved)
	}
	mode, completions := job.Spec.CompletionMode, job.Spec.Completions
	indexed := mode != nil && *mode == batchv1.IndexedCompletion
	if !indexed || completions == nil {
		Same(t, "indexes", got, jobstatus.IndexSets{})
		want := max(job.Status.Succeeded, 0)
		if completions != nil {
			want = min(want, max(*completions, 0))
		}
		if indexed {
			want = 0
		}
		Same(t, "IndexesFinished", jobstatus.IndexesFinished(job), int(want))
		return
	}
	Same(t, "IndexesFinished", jobstatus.IndexesFinished(job), got.Finished.Len())
	if *completions > 64 {
		return
	}
	completed, _ := indexset.ParseDamaged(job.Status.CompletedIndexes, *completions)
	var failed indexset.Set
	if job.Status.FailedIndexes != nil {
		failed, _ = indexset.ParseDamaged(*job.Status.FailedIndexes, *completions)
	}
	want := map[string][]int32{}
	for i := range max(*completions, 0) {
		switch {
		case completed.Contains(i):
			want["completed"] = append(want["completed"], i)
		case failed.Contains(i):
			want["failed"] = append(want["failed"], i)
		default:
			want["unfinished"] = append(want["unfinished"], i)
		}
	}
	Same(t, "completed", got.Completed, indexset.Of(want["completed"]...))
	Same(t, "failed", got.Failed, indexset.Of(want["failed"]...))
	Same(t, "unfinished", got.Unfinished, indexset.Of(want["unfinished"]...))
	Same(t, "finished", got.Finished, indexset.Of(slices.Concat(want["completed"], want["failed"])...))
}

// plain sets the lists of a status, because Equal takes absent lists for empty ones.
func plain(st *batchv1.JobStatus) *batchv1.JobStatus {
	st = st.DeepCopy()
	if st.UncountedTerminatedPods == nil {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	return st
}

// statusesHold: "Equal reports whether two statuses are equal in all fields". "A field that is
// unset in the status is null in the patch, which unsets it."
func statusesHold(t rapid.TB, old, next *batchv1.JobStatus) {
	t.Helper()
	want := equality.Semantic.DeepEqual(plain(old), plain(next))
	Same(t, "Equal", jobstatus.Equal(old, next), want)
	Same(t, "Equal, the other way round", jobstatus.Equal(next, old), want)
	Same(t, "Equal to itself", jobstatus.Equal(old, old.DeepCopy()), true)

	job := Patched(&batchv1.Job{Status: *old}, jobstatus.Patch("job-uid", "42", next))
	Same(t, "status", ToJSON(job.Status), ToJSON(next))
	Same(t, "UID and resource version", []string{string(job.UID), job.ResourceVersion}, []string{"job-uid", "42"})
}

// jobHolds checks everything that the package says of a Job.
func jobHolds(t rapid.TB, job *batchv1.Job, old *batchv1.JobStatus) {
	t.Helper()
	var inputs Inputs
	inputs.AddView(job, nil)
	wasOld := old.DeepCopy()
	outcomeHolds(t, job)
	indexesHold(t, job)
	statusesHold(t, old, &job.Status)
	Same(t, "the inputs", inputs.Changed(), "")
	Same(t, "the old status", old, wasOld)
}

func TestRandom_job(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, old := DrawJob(t), DrawStatus(t, "old")
		if rapid.Bool().Draw(t, "unchanged") {
			old = job.Status.DeepCopy()
			if fields := reflect.ValueOf(old).Elem(); rapid.Bool().Draw(t, "except one field") {
				fields.Field(rapid.IntRange(0, fields.NumField()-1).Draw(t, "field")).SetZero()
			}
		}
		jobHolds(t, job, old)
	})
}

// FuzzJob decodes a Job and another status from any JSON, so it reaches objects that no
// API server would store.
func FuzzJob(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobText, oldText string) {
		var job batchv1.Job
		var old batchv1.JobStatus
		if json.Unmarshal([]byte(jobText), &job) == nil && json.Unmarshal([]byte(oldText), &old) == nil {
			jobHolds(t, &job, &old)
		}
	})
}
