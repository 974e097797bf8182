package backoff

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Record holds what a controller remembers about the failures of a Job between two decisions: the
// number of failures since the last success, and the time of the last failure. The zero Record has
// no failures. Its JSON keeps nanoseconds.
type Record struct {
	// Job is the UID of the Job, so that a later Job of the same name does not inherit the
	// record.
	Job types.UID `json:"job,omitempty"`
	// Failures is the number of failures after the last success.
	Failures int32 `json:"failures,omitempty"`
	// Version is the version of the format, if it is not the first. This library cannot read any
	// other: [Record.For] then returns an empty record, so that it is computed from the pods again.
	Version int32 `json:"version,omitempty"`
	// LastFailure is the finish time of the last of these failures.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	LastFailure time.Time `json:"lastFailure,omitzero"`
}

// For returns the record for the given Job: r itself if it belongs to that Job or names no
// Job, otherwise an empty record. A record in the format of a newer library is empty too.
func (r Record) For(job types.UID) Record {
	if r.Job != "" && r.Job != job || r.Version != 0 {
		return Record{Job: job}
	}
	r.Job = job
	return r
}

// With returns the record after more pods have finished, given their finish times in any
// order. If there is a success, it clears the record, and only the given failures after
// the latest success count. The last failure becomes one of the given times, even if the
// record has a later one, as in the Job controller.
//
// To restore a lost record, call With for the counted pods that still exist (k#114650). A
// failure whose pod is gone is then missing, and so is a success, which would have cleared
// the failures before it.
func (r Record) With(succeeded, failed []time.Time) Record {
	if len(succeeded) > 0 {
		success := slices.MaxFunc(succeeded, time.Time.Compare)
		failed = slices.DeleteFunc(slices.Clone(failed), func(t time.Time) bool { return !t.After(success) })
		r.Failures, r.LastFailure = 0, time.Time{}
	}
	if len(failed) > 0 {
		r.Failures = int32(min(max(int64(r.Failures)+int64(len(failed)), 0), math.MaxInt32))
		r.LastFailure = slices.MaxFunc(failed, time.Time.Compare)
	}
	return r
}
