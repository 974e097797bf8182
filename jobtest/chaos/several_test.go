package chaos

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/effort"
)

var severalSchedules = effort.Flag("several", "number of random schedules with several controllers", 60, 1500)

// The reference caller violates no property with two Jobs in one cluster. Each Job is
// judged by its own ghost.
func TestSeveralJobs(t *testing.T) {
	if r := firstOf(severalSchedules(), severalOf); r.Violation != nil {
		t.Fatal(r.Story)
	}
}

func severalOf(seed uint64) Config {
	jobs := Jobs(seed)
	return Config{Seed: seed, Mode: Mode(seed % 2), Job: jobs[0], Beside: []*batchv1.Job(jobs[1:])}
}
