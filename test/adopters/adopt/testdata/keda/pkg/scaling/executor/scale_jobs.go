package executor

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

func (e *scaleExecutor) isJobFinished(j *batchv1.Job) bool {
	return jobstatus.Finished(j) != nil
}

func (c byCompletedTime) Less(i, j int) bool {
	return jobstatus.OutcomeOf(&c[i]).Since.Before(jobstatus.OutcomeOf(&c[j]).Since)
}

func (e *scaleExecutor) getFinishedJobConditionType(j *batchv1.Job) batchv1.JobConditionType {
	if c := jobstatus.Finished(j); c != nil {
		return c.Type
	}
	return ""
}
