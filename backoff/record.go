package backoff

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Record is what a Job remembers of its failures between two decisions: how many
// there were since a pod last succeeded, and when the last of them was. The zero
// Record remembers nothing. It keeps nanoseconds in JSON.
type Record struct {
	// Job is the UID of the Job: a later Job of the same name must not inherit
	// the record.
	Job types.UID `json:"job,omitempty"`
	// Failures is the number of failures after the last success.
	Failures int32 `json:"failures,omitempty"`
	// LastFailure is when the last of them finished.
	LastFailure time.Time `json:"lastFailure,omitzero"`
}

// Equal reports whether two records remember the same. Times that name the same
// instant in different locations are equal.
func (r Record) Equal(o Record) bool {
	return r.Job == o.Job && r.Failures == o.Failures && r.LastFailure.Equal(o.LastFailure)
}

// For returns r as the record of the given Job. When it is the record of another
// Job, nothing of it remains. A record that names no Job is taken at its word.
func (r Record) For(job types.UID) Record {
	if r.Job != "" && r.Job != job {
		return Record{Job: job}
	}
	r.Job = job
	return r
}

// With returns the record after the news. A success forgets the failures before
// it. The last failure is the one of the news, even if the record knew a later
// one, as in the Job controller.
func (r Record) With(n News) Record {
	switch {
	case n.Succeeded:
		r.Failures, r.LastFailure = saturate(int64(n.Failures)), n.LastFailure
	case n.Failures > 0:
		r.Failures = saturate(int64(r.Failures) + int64(n.Failures))
		r.LastFailure = n.LastFailure
	}
	return r
}

// Remaining returns how long at now the Job has still to wait before it creates
// a pod; zero when it may create one at once.
func (r Record) Remaining(p Policy, now time.Time) time.Duration {
	return p.Remaining(r.Failures, r.LastFailure, now)
}

// Rebuild returns the record of a Job whose record was lost, from the finish
// times of the pods that are still there and were counted before (k#114650). It
// knows no others: a failure whose pod is gone is forgotten, and so is a success,
// which would have cleared the failures before it.
func Rebuild(job types.UID, succeeded, failed []time.Time) Record {
	return Record{Job: job}.With(NewsOf(succeeded, failed))
}

// News is what finished since a [Record] was made.
type News struct {
	// Succeeded tells that a pod succeeded.
	Succeeded bool
	// Failures is the number of failed pods; with Succeeded, only those that
	// finished after the last success, strictly.
	Failures int32
	// LastFailure is when the last of these finished; zero when there are none.
	LastFailure time.Time
}

// NewsOf makes News of the finish times of pods, in any order.
func NewsOf(succeeded, failed []time.Time) News {
	n := News{Succeeded: len(succeeded) > 0}
	var lastSuccess time.Time
	for i, t := range succeeded {
		if i == 0 || t.After(lastSuccess) {
			lastSuccess = t
		}
	}
	for _, t := range failed {
		if n.Succeeded && !t.After(lastSuccess) {
			continue
		}
		if n.Failures == 0 || t.After(n.LastFailure) {
			n.LastFailure = t
		}
		n.Failures = saturate(int64(n.Failures) + 1)
	}
	return n
}

// saturate returns the nearest count to n.
func saturate(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
