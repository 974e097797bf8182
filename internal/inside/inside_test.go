package inside_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/inside"
)

// A Decision has the outcome that the implementation of its Machine decided. The zero Decision has
// none.
func TestInside(t *testing.T) {
	if o := inside.OutcomeOf(jobfate.Decision{}); o != nil {
		t.Errorf("the outcome of the zero Decision is %v, want nil", o)
	}
	want := &decide.Outcome{}
	m := jobfate.NewMachine()
	inside.MachineOf(m).Decide = func(*decide.Tally, decide.Input, *decide.Config) (*decide.Outcome, error) { return want, nil }
	job := &batchv1.Job{}
	job.UID, job.ResourceVersion = "job-1", "1"
	if err := m.Begin(jobfate.View{Job: job, Now: time.Unix(1, 0), JobsVersion: "1", PodsVersion: "1", Barrier: "1"}); err != nil {
		t.Fatal(err)
	}
	if got := inside.OutcomeOf(m.Result().Decision); got != want {
		t.Errorf("the outcome is %v, want %v", got, want)
	}
}
