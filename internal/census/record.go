package census

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/keys"
)

// Record is what is known of one pod, read from the pod once. It takes 48 bytes.
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

// Finish returns when the pod finished. It is known for pods that are tracked and have
// succeeded or failed.
func (r *Record) Finish() time.Time { return time.Unix(r.finish, int64(r.nanos)).UTC() }

func (r *Record) setFinish(t time.Time) {
	r.finish, r.nanos = t.Unix(), int32(t.Nanosecond())
}

// finishedBefore reports whether r finished before o.
func (r *Record) finishedBefore(o *Record) bool {
	if r.finish != o.finish {
		return r.finish < o.finish
	}
	return r.nanos < o.nanos
}

// Before is the one order of a Job's pods that every decision follows: by index, then
// by UID.
func (r *Record) Before(o *Record) bool {
	return cmp.Or(cmp.Compare(r.Index, o.Index), cmp.Compare(r.Pod.UID, o.Pod.UID)) < 0
}
