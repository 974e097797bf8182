package ray

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

func checkK8sJobStatus(job *batchv1.Job) (bool, *batchv1.JobCondition) {
	c := jobstatus.True(job.Status.Conditions, batchv1.JobFailed)
	return c != nil, c
}

func getJobFinishedCondition(job *batchv1.Job) *batchv1.JobCondition {
	return jobstatus.Finished(job)
}
