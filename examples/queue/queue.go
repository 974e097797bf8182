// Package queue admits suspended Jobs to a quota of pods. Before it admits the
// next Job it asks how many pods the others still hold: a Job that has been
// suspended, or whose end has been decided, has pods that are terminating, and
// they take room until they are gone.
package queue

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobstatus"
)

// Admit returns the waiting Jobs that may be resumed now. The jobs are all that
// share the quota, in the order in which they are to be admitted. A Job that does
// not fit holds back those behind it.
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
		// What the Job holds already has been taken off above.
		more := Holds(resumed(job)) - Holds(job)
		if more > free {
			break
		}
		free -= more
		admitted = append(admitted, job)
	}
	return admitted
}

// Holds returns how much of the quota a Job takes: the most pods that it may have at
// once. For a suspended Job these are the pods that are not gone yet.
//
// Queues do better with the pod replacement policy Failed: then a Job never holds more
// pods than its parallelism.
func Holds(job *batchv1.Job) int64 {
	return jobstatus.DemandOf(job, nil).AtOnce.Most
}

// resumed returns the Job as it is once it is resumed.
func resumed(job *batchv1.Job) *batchv1.Job {
	copied, suspend := *job, false
	copied.Spec.Suspend = &suspend
	return &copied
}

// waits reports whether a Job is suspended and its controller has seen to it. A
// Job that has just been suspended may still get pods.
func waits(job *batchv1.Job) bool {
	asked := job.Spec.Suspend != nil && *job.Spec.Suspend
	return asked && jobstatus.OutcomeOf(job).Phase == jobstatus.SuspendedPhase
}
