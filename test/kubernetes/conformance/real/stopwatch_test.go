package real_test

import (
	"testing"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var began = time.Now()

func sinceStart() time.Duration { return time.Since(began) }

// A Stopwatch runs the same controller as Sync, and leaves no state behind.
func TestStopwatch(t *testing.T) {
	in := real.Input{Job: newJob(t, size(2, 8), indexed, perIndex(1)), Now: at(0)}
	watch := real.NewStopwatch(in, sinceStart)
	want := mustSync(t, in)
	for range 2 {
		took, err := watch.Sync()
		if err != nil || took <= 0 {
			t.Errorf("Sync = %v, %v, want some time", took, err)
		}
	}
	if got := mustSync(t, in); trace(got) != trace(want) {
		t.Errorf("afterwards Sync does %s, want %s as before", trace(got), trace(want))
	}
}

func TestStopwatch_panic(t *testing.T) {
	job := newJob(t, size(1, 3), indexed)
	job.Status.CompletedIndexes = "2,2"
	job.Status.Succeeded = 2
	if _, err := real.NewStopwatch(real.Input{Job: job, Now: at(0)}, sinceStart).Sync(); err == nil {
		t.Error("the controller panics on such a status: got no error")
	}
}
