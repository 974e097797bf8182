package executor

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/fixture"
)

func getJob(t *testing.T, name string, ended string, jobConditionType batchv1.JobConditionType) *batchv1.Job {
	at, err := time.Parse(time.RFC3339, ended)
	if err != nil {
		t.Errorf("Can not parse %s as RFC3339: %v", ended, err)
	}
	job := &batchv1.Job{}
	job.Name = name
	switch jobConditionType {
	case batchv1.JobComplete:
		return fixture.Complete(job, at)
	case batchv1.JobFailed:
		return fixture.Failed(job, at, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	return job
}
