package census

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/classify"
)

// group says what a finished pod means for the backoff of the whole Job.
type group uint8

const (
	nothing          group = iota // no index is valid, or the pod has not finished
	newSuccess                    // no status has recorded the pod yet
	newFailure                    // the same
	newVerdict                    // the same, and the pod matches a FailJob rule
	countedSuccess                // a status has recorded the pod
	countedFailure                // the same
	deletedUncertain              // a deleted failed pod without the finalizer, which may be recorded
)

func (r *Record) group() group {
	counted := !r.Tracked || r.Listed
	switch {
	case !r.Valid || !r.Succeeded && !r.Failed:
		return nothing
	case r.Succeeded && counted:
		return countedSuccess
	case r.Succeeded:
		return newSuccess
	case counted && r.Pod.DeletionTimestamp != nil && !r.Listed:
		return deletedUncertain
	case counted:
		return countedFailure
	case r.FailsJob():
		return newVerdict
	}
	return newFailure
}

// finish is the number of pods of a group that finished at one time. The API stores whole
// seconds, and many pods finish in the same second.
//
// Invariant: the number is above zero.
type finish struct {
	at     time.Time
	number int32
	group  group
}

func (f finish) compare(o finish) int {
	return cmp.Or(cmp.Compare(f.group, o.group), f.at.Compare(o.at))
}

// distantFuture is after the finish times of all pods.
var distantFuture = time.Unix(1<<55, 0)

// countFinish adds the finish time of a pod, or removes it.
func (c *Census) countFinish(r *Record, by int32) {
	if r.group() == nothing {
		return
	}
	c.finished += by
	if c.finishes == nil && !c.classifier.PerIndex() {
		c.finishes = newOrdered(finish.compare, nil)
	}
	if c.finishes != nil {
		c.putFinish(r, by)
	}
}

// finishTimes returns the finish times. With a backoff limit per index they are read when they are
// needed: only for a record in doubt.
func (c *Census) finishTimes() *ordered[finish] {
	if c.finishes == nil && c.finished > 0 {
		c.finishes = newOrdered(finish.compare, nil)
		for r := range c.All() {
			if r.group() != nothing {
				c.putFinish(r, 1)
			}
		}
	}
	return c.finishes
}

func (c *Census) putFinish(r *Record, by int32) {
	f := finish{group: r.group(), at: r.Finish()}
	known := c.finishes.get(f)
	switch {
	case known == nil:
		f.number = by
		c.finishes.insert(f)
	case known.number+by == 0:
		c.finishes.remove(f)
	default:
		known.number += by
	}
}

// latest returns the last finish time in a group, if there is one.
func (c *Census) latest(g group) (at time.Time, ok bool) {
	f, ok := c.finishTimes().last(finish{group: g, at: distantFuture})
	return f.at, ok && f.group == g
}

// BackoffChange is the effect of finished pods on the backoff record of the whole Job.
type BackoffChange struct {
	// Succeeded says that a pod has succeeded, the last one at LastSuccess.
	Succeeded   bool
	LastSuccess time.Time
	// Failures is the number of failures after that, the last one at LastFailure.
	Failures    int32
	LastFailure time.Time
}

// With returns the record after the change.
func (c BackoffChange) With(r backoff.Record) backoff.Record {
	if c.Succeeded {
		r.Failures, r.LastFailure = 0, time.Time{}
	}
	if c.Failures > 0 {
		r.Failures, r.LastFailure = classify.Sum(max(r.Failures, 0), c.Failures), c.LastFailure
	}
	return r
}

// counts reports whether a failure at a time counts: no success came later.
func (c *BackoffChange) counts(at time.Time) bool { return !c.Succeeded || at.After(c.LastSuccess) }

// fail adds a number of failures at one time, which count.
func (c *BackoffChange) fail(at time.Time, number int32) {
	if c.Failures == 0 || at.After(c.LastFailure) {
		c.LastFailure = at
	}
	c.Failures = classify.Sum(c.Failures, number)
}

// BackoffChange returns the effect of the pods that no status has recorded yet. kept says to leave
// out the pods that match a FailJob rule, because they are not counted now (see KeepFailsJob of
// classify.AccountInputs).
func (c *Census) BackoffChange(kept bool) BackoffChange {
	if kept {
		return c.backoffChange(newSuccess, newFailure)
	}
	return c.backoffChange(newSuccess, newFailure, newVerdict)
}

// BackoffChangeOf returns the effect of those of the pods that no status has recorded yet.
func (c *Census) BackoffChangeOf(pods []*corev1.Pod) (change BackoffChange) {
	for _, pod := range pods {
		if r := c.Of(pod.UID); r.group() == newSuccess {
			change.Succeeded = true
			if at := r.Finish(); at.After(change.LastSuccess) {
				change.LastSuccess = at
			}
		}
	}
	for _, pod := range pods {
		if r := c.Of(pod.UID); (r.group() == newFailure || r.group() == newVerdict) && change.counts(r.Finish()) {
			change.fail(r.Finish(), 1)
		}
	}
	return change
}

func (c *Census) backoffChange(success group, failures ...group) (change BackoffChange) {
	if at, ok := c.latest(success); ok {
		change.Succeeded, change.LastSuccess = true, at
	}
	for _, g := range failures {
		last := finish{group: g, at: distantFuture}
		for f, ok := c.finishTimes().last(last); ok && f.group == g && change.counts(f.at); f, ok = c.finishes.last(f) {
			change.fail(f.at, f.number)
		}
	}
	return change
}

// Rebuilt returns the backoff record that follows from the counted pods that still exist. Pods that
// are not counted yet are left to [Census.BackoffChange].
//
// A pod that is being deleted and has no finalizer may have been counted as failed, or the
// controller has deleted it uncounted, for example when it suspended the Job. The pod does
// not show which. All such pods together count as one failure. So the delay after one failure
// is kept, and a Job of many pods does not wait for ten minutes when it is resumed.
func (c *Census) Rebuilt(job types.UID) backoff.Record {
	change := c.backoffChange(countedSuccess, countedFailure)
	if at, ok := c.latest(deletedUncertain); ok && at.After(time.Time{}) && change.counts(at) {
		change.fail(at, 1)
	}
	return change.With(backoff.Record{Job: job})
}
