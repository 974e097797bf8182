package lifecycle_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Each field of a status is in the patch under its own name.
func TestPatch_everyField(t *testing.T) {
	status := FullStatus()
	var patch struct {
		Status batchv1.JobStatus `json:"status"`
	}
	if err := json.Unmarshal(lifecycle.Patch("uid", "7", status), &patch); err != nil {
		t.Fatal(err)
	}
	if !lifecycle.Equal(&patch.Status, status) {
		t.Errorf("got %+v, want %+v", patch.Status, status)
	}
}

// Completed and failed indexes come from their own fields.
func TestReadIndexes(t *testing.T) {
	completed, failed := lifecycle.ReadIndexes(&batchv1.JobStatus{CompletedIndexes: "0,2", FailedIndexes: new("1,5")}, 5)
	Same(t, "completed; failed", completed.String()+"; "+failed.String(), "0,2; 1")
	completed, failed = lifecycle.ReadIndexes(&batchv1.JobStatus{CompletedIndexes: "0,2"}, 5)
	Same(t, "completed; failed", completed.String()+"; "+failed.String(), "0,2; ")
}

// An end is decided if the status has its interim condition, not if it has any.
func TestDecide_decided(t *testing.T) {
	for stored, want := range map[batchv1.JobConditionType]bool{
		batchv1.JobSuccessCriteriaMet: true, batchv1.JobFailureTarget: true, batchv1.JobSuspended: false,
	} {
		end := lifecycle.Decide(&lifecycle.Facts{Conditions: []batchv1.JobCondition{Yes(stored)}, PastDeadline: true})
		Same(t, string(stored)+": decided", end.Decided, want)
	}
}

// A completion time that equals the start time is a time of its own, and conditions that a status had before are
// replaced in a new list when only their status, reason or message changes.
func TestEnter_sharesNothing(t *testing.T) {
	start := After(5)
	out := &batchv1.JobStatus{StartTime: &start, Conditions: []batchv1.JobCondition{Yes(batchv1.JobSuccessCriteriaMet)}}
	if !lifecycle.EnterTerminal(out, succeeding, 0, Noon()) || out.CompletionTime == out.StartTime {
		t.Errorf("the completion time is %v, the start time %v, want two of the same value", out.CompletionTime, out.StartTime)
	}
	for _, edit := range []func(*batchv1.JobCondition){
		func(c *batchv1.JobCondition) { c.Status = "Unknown" }, func(c *batchv1.JobCondition) { c.Reason = "Other" },
		func(c *batchv1.JobCondition) { c.Message = "other" },
	} {
		old := batchv1.JobCondition{Type: batchv1.JobSuspended, Status: "True", Reason: "JobSuspended", Message: "Job suspended"}
		edit(&old)
		before := []batchv1.JobCondition{old}
		status := &batchv1.JobStatus{Conditions: before}
		if changed := lifecycle.Suspend(status, true, Noon().Add(time.Hour)); !changed || status.Conditions[0].Status != "True" ||
			!reflect.DeepEqual(before, []batchv1.JobCondition{old}) {
			t.Errorf("after %+v: changed %t, got %+v, and the list before is %+v", old, changed, status.Conditions, before)
		}
	}
}
