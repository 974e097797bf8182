package replace

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/validation"
)

// CheckStatus returns why the API server would reject a new status of a Job; nil if it accepts it.
func CheckStatus(stored *batchv1.Job, status *batchv1.JobStatus) error {
	job := *stored
	job.Status = *status
	return validation.StatusUpdate(&job, stored).ToAggregate()
}
