package replace

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Ready reports whether a Job is complete. If the Job fails, it returns an error that says why, as
// soon as that is decided.
func Ready(job *batchv1.Job) (bool, error) {
	o := jobstatus.OutcomeOf(job)
	if o.Phase == jobstatus.Failed || o.Phase == jobstatus.Failing {
		return false, fmt.Errorf("job %s/%s failed: %s: %s", job.Namespace, job.Name, o.Reason, o.Message)
	}
	return o.Phase == jobstatus.Complete, nil
}
