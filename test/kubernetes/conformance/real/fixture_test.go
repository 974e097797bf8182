package real_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var (
	newJob, size, indexed, perIndex = fixture.Job, fixture.Size, fixture.Indexed, fixture.PerIndex
	newPod, index, failures, exit   = fixture.Pod, fixture.Index, fixture.Failures, fixture.Exit
)

func at(seconds int) time.Time { return fixture.At(seconds).Time }

// mustSync fails the test if the sync fails.
func mustSync(t *testing.T, in real.Input) real.Output {
	t.Helper()
	out := real.Sync(in)
	if out.Err != nil || out.Panic != nil {
		t.Fatalf("sync: error %v, panic %v", out.Err, out.Panic)
	}
	return out
}

// lastStatus returns the last status that was stored.
func lastStatus(t *testing.T, out real.Output) *batchv1.JobStatus {
	t.Helper()
	statuses := out.Statuses()
	if len(statuses) == 0 {
		t.Fatalf("no status was stored; calls: %s", trace(out))
	}
	return statuses[len(statuses)-1]
}

// trace lists the calls.
func trace(out real.Output) string {
	var lines []string
	for _, c := range out.Calls {
		line := string(c.Kind)
		if c.Pod != "" {
			line += " " + c.Pod
		}
		if c.Err != nil {
			line += " failed"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
