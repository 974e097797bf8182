package upstream

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/fixture"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var (
	at, has, indexed, limitPerIndex      = fixture.At, fixture.IsTrue, fixture.Indexed, fixture.PerIndex
	newPod, index, failures, exit, ready = fixture.Pod, fixture.Index, fixture.Failures, fixture.Exit, fixture.Ready
)

// newJob returns a Job that the API server accepts, and that started a minute ago.
func newJob(t *testing.T, parallelism, completions int32, change ...func(*batchv1.JobSpec)) *batchv1.Job {
	t.Helper()
	stored := fixture.Job(t, append(change, fixture.Size(parallelism, completions))...)
	stored.ResourceVersion, stored.Status.StartTime = "1", at(-60)
	return stored
}

// fixedIn reports whether the compared release has a fix that came with a minor version.
func fixedIn(minor int) bool { return kubernetes.Minor() >= minor }

// failJob is a pod failure policy that fails the Job when a container exits with 42.
func failJob(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
	}}}
}

// sync runs one sync at noon on an API server that validates statuses.
func sync(in real.Input) real.Output {
	in.Now, in.Validate = at(0).Time, true
	return real.Sync(in)
}

// last returns the last status that was stored.
func last(t *testing.T, out real.Output) *batchv1.JobStatus {
	t.Helper()
	all := out.Statuses()
	if len(all) == 0 {
		t.Fatalf("no status was stored: error %v", out.Err)
	}
	return all[len(all)-1]
}

// refused fails the test unless the API server has rejected a status with the reason.
func refused(t *testing.T, out real.Output, reason string) {
	t.Helper()
	if out.Err == nil || !strings.Contains(out.Err.Error(), reason) {
		t.Errorf("got the error %v, want %q in it", out.Err, reason)
	}
}
