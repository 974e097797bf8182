package kube

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

func (c *ReadyChecker) jobReady(job *batchv1.Job) (bool, error) {
	is := func(state string) { c.log("Job is %s: %s/%s", state, job.Namespace, job.Name) }
	switch o := jobstatus.OutcomeOf(job); o.Phase {
	case jobstatus.Complete:
		return true, nil
	case jobstatus.Failing, jobstatus.Failed:
		is("failed")
		return false, fmt.Errorf("job is failed: %s/%s: %s: %s", job.Namespace, job.Name, o.Reason, o.Message)
	}
	is("not completed")
	return false, nil
}
