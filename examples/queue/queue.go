// Package queue admits suspended Jobs to a quota of pods. Before it admits a Job, it checks
// how many pods the other Jobs still hold: a Job that is suspended, or whose end is decided,
// may have terminating pods, which use the quota until they are gone.
package queue

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Admit returns the waiting Jobs that may be resumed now. Pass all Jobs that share the quota,
// in the order of admission. A Job that does not fit blocks the Jobs behind it.
func Admit(quota int32, jobs []*batchv1.Job) []*batchv1.Job {
	free := int64(quota)
	var waiting, admitted []*batchv1.Job
	for _, job := range jobs {
		free -= Holds(job)
		if waits(job) {
			waiting = append(waiting, job)
		}
	}
	for _, job := range waiting {
		// The pods that the Job already holds are subtracted above.
		more := Holds(resumed(job)) - Holds(job)
		if more > free {
			break
		}
		free -= more
		admitted = append(admitted, job)
	}
	return admitted
}

// Holds returns how much of the quota a Job uses: the largest number of pods that it may have
// at once. For a suspended Job this is the number of pods that are not gone yet.
//
// Prefer the pod replacement policy Failed: a Job then never holds more pods than its
// parallelism.
func Holds(job *batchv1.Job) int64 {
	return jobstatus.DemandOf(job).AtOnce.Most
}

// resumed returns a copy of the Job that is not suspended.
func resumed(job *batchv1.Job) *batchv1.Job {
	copied, suspend := *job, false
	copied.Spec.Suspend = &suspend
	return &copied
}

// waits reports whether a Job is suspended and its controller has observed the suspension. Until
// then the Job may still get pods.
func waits(job *batchv1.Job) bool {
	asked := job.Spec.Suspend != nil && *job.Spec.Suspend
	return asked && jobstatus.OutcomeOf(job).Phase == jobstatus.Suspended
}
