package kube

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/jobfate/jobfate/jobtest/fixture"
)

func newJob(name string, backoffLimit int, completions *int32, succeeded int, failed int) *batchv1.Job {
	job := &batchv1.Job{}
	job.Namespace, job.Name = defaultNamespace, name
	job.Spec.BackoffLimit, job.Spec.Completions = intToInt32(backoffLimit), completions
	switch {
	case succeeded > 0:
		return fixture.Complete(job, time.Now())
	case failed > backoffLimit:
		return fixture.Failed(job, time.Now(), batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	job.Status.Failed = int32(failed)
	return job
}

func Test_ReadyChecker_jobReady_conditions(t *testing.T) {
	now, job := time.Now(), newJob("foo", 6, intToInt32(2), 0, 0)
	for reason, job := range map[string]*batchv1.Job{
		"deadline":           fixture.Failed(job, now, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"),
		"pod failure policy": fixture.Failed(job, now, batchv1.JobReasonPodFailurePolicy, "Container main failed with exit code 42"),
	} {
		t.Run(reason, func(t *testing.T) {
			checker := NewReadyChecker(fake.NewClientset(), nil)
			if got, err := checker.jobReady(job); err == nil || got {
				t.Errorf("jobReady() = %v, error = %v, want an error", got, err)
			}
		})
	}
}
