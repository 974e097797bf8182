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

// For returns r as the record of the given Job. When it is the record of another
// Job, nothing of it remains. A record that names no Job is taken at its word.
func (r Record) For(job types.UID) Record {
	if r.Job != "" && r.Job != job {
		return Record{Job: job}
	}
	r.Job = job
	return r
}

// With returns the record after more pods have finished, given when they did, in any
// order. The latest success forgets all failures that were not after it. The last failure
// is one of those given, even if the record knew a later one, as in the Job controller.
//
// A record that was lost is made again with the pods that are still there and were counted
// before (k#114650): a failure whose pod is gone is forgotten, and so is a success, which
// would have cleared the failures before it.
func (r Record) With(succeeded, failed []time.Time) Record {
	var lastSuccess time.Time
	for i, t := range succeeded {
		if i == 0 || t.After(lastSuccess) {
			lastSuccess = t
		}
	}
	if len(succeeded) > 0 {
		r.Failures, r.LastFailure = 0, time.Time{}
	}
	first := true
	for _, t := range failed {
		if len(succeeded) > 0 && !t.After(lastSuccess) {
			continue
		}
		if first || t.After(r.LastFailure) {
			r.LastFailure = t
		}
		r.Failures, first = saturate(int64(r.Failures)+1), false
	}
	return r
}

// saturate returns the nearest count to n.
func saturate(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
