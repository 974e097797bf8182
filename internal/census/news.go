package census

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
)

// countMoments notes when a pod finished: for the news what is still to be counted, for
// the record what has been.
func (c *Census) countMoments(r *Record, by int32) {
	at := r.finished()
	switch counted := !r.Tracked || r.Listed; {
	case !r.Valid:
	case r.Succeeded && counted:
		c.counted.succeeded.add(at, by)
	case r.Succeeded:
		c.news.succeeded.add(at, by)
	case !r.Failed:
	case counted && r.Pod.DeletionTimestamp != nil && !r.Listed:
		c.counted.deleted.add(at, by)
	case counted:
		c.counted.failed.add(at, by)
	case r.FailsJob:
		c.news.failJob.add(at, by)
	default:
		c.news.failed.add(at, by)
	}
}

// News is what finished pods mean for the backoff of the whole Job.
type News struct {
	// Succeeded says that a pod has succeeded, the last at LastSuccess.
	Succeeded   bool
	LastSuccess time.Time
	// Failures is the number of failures after that, the last at LastFailure.
	Failures    int32
	LastFailure time.Time
}

// With returns a record after the news.
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

// News returns the news of the pods that no status has recorded yet. Kept says that the
// pods which match a FailJob rule are not counted now (see AccountInputs.KeepFailsJob),
// and are no news.
func (c *Census) News(kept bool) News {
	failed := []*instants{&c.news.failed, &c.news.failJob}
	if kept {
		failed = failed[:1]
	}
	return newsOf(&c.news.succeeded, failed...)
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

// Rebuilt returns the backoff record that the pods tell which have been counted and are
// still there. Pods that are still to be counted are news, and not of the record.
//
// A pod that is being deleted may have been counted as failed, or the controller
// has deleted it itself, as it does when a Job is suspended: nothing tells. All of
// them together are taken for one failure, so that the delay after one is kept, and
// a Job of many pods does not wait for ten minutes when it is resumed.
func (c *Census) Rebuilt(job types.UID) backoff.Record {
	var one instants
	if at, ok := c.counted.deleted.latest(); ok && at.compare(instantOf(time.Time{})) > 0 {
		one.add(at, 1)
	}
	return newsOf(&c.counted.succeeded, &c.counted.failed, &one).With(backoff.Record{Job: job})
}
