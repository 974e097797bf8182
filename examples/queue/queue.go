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
		free -= int64(Holds(job))
		if waits(job) {
			waiting = append(waiting, job)
		}
	}
	for _, job := range waiting {
		// What the Job holds already has been taken off above.
		more := int64(holdsRunning(job) - Holds(job))
		if more > free {
			break
		}
		free -= more
		admitted = append(admitted, job)
	}
	return admitted
}

// Holds returns how much of the quota a Job takes.
func Holds(job *batchv1.Job) int32 {
	if waits(job) || jobstatus.OutcomeOf(job).Decided() {
		return jobstatus.PodsHeld(job) // no pod is added to these
	}
	return holdsRunning(job)
}

// holdsRunning returns how many pods a Job may have while it is not suspended.
func holdsRunning(job *batchv1.Job) int32 {
	if t := job.Status.Terminating; t != nil && replacesAtOnce(job) {
		return Needs(job) + *t // the pods that terminate are replaced before they are gone
	}
	return max(Needs(job), jobstatus.PodsHeld(job))
}

// Needs returns how many active pods a Job has at most, from now on. The status
// may say less, because it lags behind.
func Needs(job *batchv1.Job) int32 {
	parallelism := int32(1)
	if p := job.Spec.Parallelism; p != nil {
		parallelism = *p
	}
	if n := job.Spec.Completions; n != nil {
		return min(parallelism, *n-int32(jobstatus.IndexesFinished(job)))
	}
	return parallelism
}

// waits reports whether a Job is suspended and its controller has seen to it. A
// Job that has just been suspended may still get pods.
func waits(job *batchv1.Job) bool {
	asked := job.Spec.Suspend != nil && *job.Spec.Suspend
	return asked && jobstatus.OutcomeOf(job).Phase == jobstatus.SuspendedPhase
}

// replacesAtOnce reports whether a pod is replaced as soon as it is deleted.
// Queues do better with the policy Failed: then a Job never holds more pods than
// its parallelism.
func replacesAtOnce(job *batchv1.Job) bool {
	if policy := job.Spec.PodReplacementPolicy; policy != nil {
		return *policy == batchv1.TerminatingOrFailed
	}
	return job.Spec.PodFailurePolicy == nil
}
