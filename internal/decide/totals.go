package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/tracking"
)

// Totals are what the status and the pods amount to together.
type Totals struct {
	// Succeeded are the succeeded pods; of an Indexed Job, the completed indexes.
	Succeeded int32
	Failed    int32
	// The rest is for Indexed Jobs. Active are the indexes with an active pod.
	Fates  tracking.Fates
	Active indexset.Set
	// Before are the failed pods that wait for their replacement.
	Before tracking.Predecessors
}

func count(job *batchv1.Job, spec *Spec, status *Status, census *tracking.Census) Totals {
	t := Totals{Failed: census.FailedTotal(job.Status.Failed)}
	if !spec.Indexed {
		t.Succeeded = census.SucceededTotal(job.Status.Succeeded)
		return t
	}
	t.Fates = census.Fates(status.Completed.Set, status.Failed.Set, spec.Limit)
	t.Succeeded = int32(t.Fates.Completed.Len())
	t.Active = census.Indexes(tracking.Active)
	if spec.PerIndex {
		t.Before = census.Predecessors(t.Fates.Finished(), t.Active)
	}
	return t
}
