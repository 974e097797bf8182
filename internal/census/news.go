package census

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
)

// countFinish adds the finish time of a pod, or removes it: to the unrecorded times for
// [Census.News], or to the counted times for [Census.Rebuilt].
func (c *Census) countFinish(r *Record, by int32) {
	at := r.finished()
	switch counted := !r.Tracked || r.Listed; {
	case !r.Valid:
	case r.Succeeded && counted:
		c.counted.succeeded.add(at, by)
	case r.Succeeded:
		c.unrecorded.succeeded.add(at, by)
	case !r.Failed:
	case counted && r.Pod.DeletionTimestamp != nil && !r.Listed:
		c.counted.deleted.add(at, by)
	case counted:
		c.counted.failed.add(at, by)
	case r.FailsJob:
		c.unrecorded.failJob.add(at, by)
	default:
		c.unrecorded.failed.add(at, by)
	}
}

// News is the effect of finished pods on the backoff of the whole Job.
type News struct {
	// Succeeded says that a pod has succeeded, the last one at LastSuccess.
	Succeeded   bool
	LastSuccess time.Time
	// Failures is the number of failures after that, the last one at LastFailure.
	Failures    int32
	LastFailure time.Time
}

// With returns the record with the news added.
func (n News) With(r backoff.Record) backoff.Record {
	var succeeded, failed []time.Time
	if n.Succeeded {
		succeeded = []time.Time{n.LastSuccess}
	}
	if n.Failures > 0 {
		failed = []time.Time{n.LastFailure}
	}
	r = r.With(succeeded, failed)
	r.Failures = add(r.Failures, max(n.Failures-1, 0))
	return r
}

// News returns the news of the pods that no status has recorded yet. kept says that pods
// that match a FailJob rule are not counted now (see AccountInputs.KeepFailsJob). They are
// then left out.
func (c *Census) News(kept bool) News {
	failed := []*instants{&c.unrecorded.failed, &c.unrecorded.failJob}
	if kept {
		failed = failed[:1]
	}
	return newsOf(&c.unrecorded.succeeded, failed...)
}

func newsOf(succeeded *instants, failed ...*instants) (news News) {
	since := instant{seconds: -1 << 63}
	if at, ok := succeeded.latest(); ok {
		news.Succeeded, news.LastSuccess, since = true, at.time(), at
	}
	last := since
	for _, some := range failed {
		news.Failures = add(news.Failures, some.after(since))
		if at, ok := some.latest(); ok && at.compare(last) > 0 {
			last = at
		}
	}
	if news.Failures > 0 {
		news.LastFailure = last.time()
	}
	return news
}

// Rebuilt returns the backoff record that follows from the counted pods that still exist.
// Pods that are not counted yet are left to [Census.News].
//
// A pod that is being deleted and has no finalizer may have been counted as failed, or the
// controller has deleted it uncounted, for example when it suspended the Job. The pod does
// not show which. All such pods together count as one failure. So the delay after one failure
// is kept, and a Job of many pods does not wait for ten minutes when it is resumed.
func (c *Census) Rebuilt(job types.UID) backoff.Record {
	var one instants
	if at, ok := c.counted.deleted.latest(); ok && at.compare(instantOf(time.Time{})) > 0 {
		one.add(at, 1)
	}
	return newsOf(&c.counted.succeeded, &c.counted.failed, &one).With(backoff.Record{Job: job})
}
