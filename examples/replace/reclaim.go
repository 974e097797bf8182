package replace

import (
	"github.com/jobfate/jobfate/decide"
	batchv1 "k8s.io/api/batch/v1"
)

// Reclaimable returns how many of the pods that a queue has reserved for a Job it may give away:
// the Job will not need them again. The queue has reserved Reserved pods.
func Reclaimable(job *batchv1.Job) int64 {
	return max(0, Reserved(job)-decide.DemandOf(job).AtOnce.Most)
}

// Reserved returns the most pods that a Job has at once when it starts.
func Reserved(job *batchv1.Job) int64 {
	pods := int64(1) // the default
	if n := job.Spec.Parallelism; n != nil {
		pods = int64(*n)
	}
	if n := job.Spec.Completions; n != nil {
		pods = min(pods, int64(*n))
	}
	return pods
}
