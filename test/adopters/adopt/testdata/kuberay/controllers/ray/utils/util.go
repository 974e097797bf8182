package utils

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// IsJobFinished returns how a Job ends. A failure counts as soon as it is decided, while pods may still terminate.
func IsJobFinished(j *batchv1.Job) (batchv1.JobConditionType, bool) {
	switch jobstatus.OutcomeOf(j).Phase {
	case jobstatus.Complete:
		return batchv1.JobComplete, true
	case jobstatus.Failing, jobstatus.Failed:
		return batchv1.JobFailed, true
	}
	return "", false
}
