// Package queue admits suspended Jobs to a quota of pods. Before it admits a Job, it checks
// how many pods the other Jobs still hold: a Job that is suspended, or whose end is decided,
// may have terminating pods, which use the quota until they are gone. A Job that was suspended
// may even get pods, until its controller has observed that.
package queue

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// Queue remembers what it has seen of the suspensions of Jobs. The zero value has seen nothing, as
// after a restart: Jobs that were suspended before, and that may have been resumed in between, then
// hold their quota until the queue has removed the condition Suspended, and the controller set it again.
type Queue struct {
	seen map[types.NamespacedName]jobstatus.Suspension
}

// Admit returns the waiting Jobs that may be resumed now. Pass all Jobs that share the quota,
// in the order of admission, no older than the last edit of the caller. A Job that does not fit
// blocks the Jobs behind it, except those that would not give their quota back anyway.
func (q *Queue) Admit(quota int32, jobs []*batchv1.Job) (admitted []*batchv1.Job) {
	before := q.seen
	q.seen = map[types.NamespacedName]jobstatus.Suspension{}
	free := int64(quota)
	for _, job := range jobs {
		q.seen[nameOf(job)] = before[nameOf(job)].After(job)
		free -= q.Holds(job)
	}
	blocked := false
	for _, job := range jobs {
		if !q.waits(job) {
			continue
		}
		// The pods that the Job already holds are subtracted above.
		more := q.Holds(resumed(job)) - q.Holds(job)
		if q.seen[nameOf(job)].Observed() && (blocked || more > free) {
			blocked = true
			continue
		}
		free -= more
		admitted = append(admitted, job)
	}
	return admitted
}

// Holds returns how much of the quota a Job uses: the largest number of pods that it may have at once.
// Prefer the pod replacement policy Failed: that is then never more than its parallelism.
func (q *Queue) Holds(job *batchv1.Job) int64 {
	atOnce := decide.DemandOf(job).AtOnce
	if q.seen[nameOf(job)].After(job).Observed() {
		return atOnce.Least // the pods that are not gone yet
	}
	return atOnce.Most
}

// MayPreempt reports whether a Job may be suspended, so that Admit gets its quota back. A Job that was
// resumed a moment ago still has the condition Suspended. If it were suspended again, nothing would tell
// when its controller has observed that.
func (q *Queue) MayPreempt(job *batchv1.Job) bool {
	if s, ok := q.seen[nameOf(job)]; ok {
		q.seen[nameOf(job)] = s.After(job)
	}
	return !isSuspended(job) && jobstatus.OutcomeOf(job).Phase == jobstatus.Running
}

// waits reports whether a Job may be resumed. With the pod replacement policy Failed its controller
// must have observed a suspension. Otherwise pods are replaced before they are gone: the status must
// show all that are being deleted.
func (q *Queue) waits(job *batchv1.Job) bool {
	policy := job.Spec.PodReplacementPolicy
	if policy != nil && *policy == batchv1.Failed {
		return isSuspended(job) && jobstatus.OutcomeOf(job).Phase == jobstatus.Suspended
	}
	return q.seen[nameOf(job)].Observed() && job.Status.Active == 0
}

// resumed returns a copy of the Job that is not suspended.
func resumed(job *batchv1.Job) *batchv1.Job {
	copied, suspend := *job, false
	copied.Spec.Suspend = &suspend
	return &copied
}

func nameOf(job *batchv1.Job) types.NamespacedName {
	return types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }
