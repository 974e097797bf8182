package replace

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Finished returns how a Job has ended, Complete or Failed. It returns Failed as soon as the
// failure is decided, while pods may still terminate.
func Finished(job *batchv1.Job) (how batchv1.JobConditionType, finished bool) {
	switch jobstatus.OutcomeOf(job).Phase {
	case jobstatus.Complete:
		return batchv1.JobComplete, true
	case jobstatus.Failing, jobstatus.Failed:
		return batchv1.JobFailed, true
	}
	return "", false
}

// Ended returns the terminal condition of a Job, Complete or Failed, if it has one: its pods are
// gone.
func Ended(job *batchv1.Job) (how batchv1.JobConditionType, ended bool) {
	if o := jobstatus.OutcomeOf(job); o.Terminal() {
		return batchv1.JobConditionType(o.Phase), true
	}
	return "", false
}
