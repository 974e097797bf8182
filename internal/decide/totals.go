package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/census"
)

// Totals are the counts of the status and the uncounted pods together.
type Totals struct {
	// Succeeded is the number of succeeded pods or, in an Indexed Job, of completed
	// indexes.
	Succeeded int32
	Failed    int32
	// Results are set for an Indexed Job only.
	Results census.IndexResults
}

func count(job *batchv1.Job, spec *Spec, status *Status, c *census.Census) Totals {
	t := Totals{Failed: c.FailedTotal(job.Status.Failed)}
	if !spec.Indexed {
		t.Succeeded = c.SucceededTotal(job.Status.Succeeded)
		return t
	}
	t.Results = c.IndexResults(status.Completed.Set, status.Failed.Set)
	t.Succeeded = int32(t.Results.Completed.Len())
	return t
}
