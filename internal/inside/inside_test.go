package inside_test

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/internal/inside"
)

// A Machine decides with the function that it was given, on what it remembers.
func TestInside(t *testing.T) {
	m := jobfate.NewMachine()
	inside.Memory(m).Known = "2"
	want := errors.New("no decision")
	var seen jobfate.Snapshot
	inside.Decide(m, func(s jobfate.Snapshot, _ jobfate.Option, usual inside.Usual) (jobfate.Decision, error) {
		seen = s
		if d, err := usual(s); err != nil || d.Requeue != time.Second {
			t.Errorf("the usual decision is %+v, %v, want to wait a second", d, err)
		}
		return jobfate.Decision{}, want
	})
	job := &batchv1.Job{}
	job.Name, job.UID, job.ResourceVersion = "job", "job-1", "1"
	inside.Memory(m).Job = job.UID
	err := m.Begin(jobfate.View{Job: job, Now: time.Unix(1, 0), JobsVersion: "1", PodsVersion: "1", Barrier: "1"})
	if !errors.Is(err, want) || !seen.InFlight.Status {
		t.Errorf("Begin: %v, in flight %+v; want the given error, and a status", err, seen.InFlight)
	}
}

// A decision is amended before it is carried out.
func TestAmend(t *testing.T) {
	m := jobfate.NewMachine()
	inside.Amend(m, func(_ jobfate.Snapshot, d *jobfate.Decision) { d.Requeue = time.Hour })
	job := &batchv1.Job{}
	job.Name, job.UID, job.ResourceVersion = "job", "job-1", "1"
	if err := m.Begin(jobfate.View{Job: job, Now: time.Unix(1, 0), JobsVersion: "1", PodsVersion: "1", Barrier: "1"}); err != nil {
		t.Fatal(err)
	}
	if got := m.Result().Decision.Requeue; got != time.Hour {
		t.Errorf("Requeue is %v, want an hour", got)
	}
}
