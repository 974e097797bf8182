package controllers

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

func JobFinished(job *batchv1.Job) (bool, batchv1.JobConditionType) {
	if c := jobstatus.Finished(job); c != nil {
		return true, c.Type
	}
	return false, ""
}
