package census

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/owner"
)

// Record is what is known of one pod, read from the pod once. It never changes: what is
// read anew is another Record. It takes 48 bytes.
type Record struct {
	Pod    *corev1.Pod
	finish int64 // seconds, and nanos within: time.Time would take 24 bytes
	nanos  int32
	// Index is the completion index of an Indexed Job's pod, or keys.NoIndex. An
	// index above every valid one reads as the largest int32.
	Index int32
	// Counts are the pod's failure counts, read for failed pods of Jobs with a
	// backoff limit per index.
	Counts keys.Counts
	// Relation is what the pod is to the Job. Of pods that are not the Job's own, nor
	// about to be, nothing else is read.
	Relation owner.Relation

	// Active pods have not terminated and are not being deleted. Ready ones have the
	// Ready condition as well.
	Active, Ready bool
	// Terminating pods are being deleted and have not terminated yet.
	Terminating bool
	// Succeeded and Failed say how the pod counts. For a pod that is listed, that is
	// what the list says and not the phase. Unless only failed pods are replaced, a
	// pod that is being deleted has failed before it has terminated.
	Succeeded, Failed bool
	// Finalized pods carry the tracking finalizer in the snapshot. Of Tracked ones it
	// has not been removed since: they are still to be counted.
	Finalized, Tracked bool
	// Listed pods have their UID in one of the uncounted lists.
	Listed bool
	// Valid pods can count: for an Indexed Job, their index is within completions.
	Valid bool
	// The action of the rule that a failed pod matches.
	Ignored, FailsIndex, FailsJob bool
}

// Finish returns when the pod finished. It is known for pods that have succeeded or
// failed.
func (r *Record) Finish() time.Time { return r.finished().time() }

func (r *Record) finished() instant { return instant{r.finish, r.nanos} }

// own reports whether the pod is the Job's, or will be once it is adopted.
func (r *Record) own() bool { return r.Relation == owner.Owned || r.Relation == owner.Adoptable }

// done reports whether the pod has succeeded or failed, and its finalizer has not been
// removed.
func (r *Record) done() bool { return r.Tracked && (r.Succeeded || r.Failed) }

// isNews reports whether a pod, if it has finished, is not recorded yet.
func (r *Record) isNews() bool { return r.Tracked && r.Valid && !r.Listed }

// replaceable reports whether a new pod may take over the failures of this one.
func (r *Record) replaceable() bool { return r.Failed && r.Tracked && r.Valid }

// compare is the one order of a Job's pods that every decision follows: by index, then
// by UID.
func (r *Record) compare(o *Record) int {
	return cmp.Or(cmp.Compare(r.Index, o.Index), cmp.Compare(r.Pod.UID, o.Pod.UID))
}

// Before reports whether a pod comes before another in that order.
func (r *Record) Before(o *Record) bool { return r.compare(o) < 0 }

// compareFailures orders failed pods by index, and those of an index by failures, then
// by when they failed, then by UID: the last has the most.
func (r *Record) compareFailures(o *Record) int {
	if c := cmp.Or(cmp.Compare(r.Index, o.Index), r.Counts.Compare(o.Counts), r.finished().compare(o.finished())); c != 0 {
		return c
	}
	return cmp.Compare(r.Pod.UID, o.Pod.UID)
}
