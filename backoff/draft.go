package backoff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Draft is a backoff limit in the form of the early draft of KEP-3850: a limit, and a
// target that says whether it counts the failures of the Job or of each index. The KEP rejected
// this form, Kubernetes never had it, and no framework is known to use it. Draft is for specs that
// follow the draft, and is decoded from their JSON.
type Draft struct {
	// BackoffLimit is 6 when nil.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// BackoffLimitTarget is TargetJob when empty.
	BackoffLimitTarget Target `json:"backoffLimitTarget,omitempty"`
	// PodFailurePolicy holds the target in the draft, BackoffLimitTarget in the alternative that the
	// KEP rejects. If both are set, they must be equal.
	PodFailurePolicy *DraftPolicy `json:"podFailurePolicy,omitempty"`
}

// DraftPolicy is the part of the draft's pod failure policy about the backoff limit.
type DraftPolicy struct {
	// BackoffLimitTarget is that of the Draft when empty.
	BackoffLimitTarget Target `json:"backoffLimitTarget,omitempty"`
}

// Fields has the fields of a JobSpec that hold a backoff limit.
type Fields struct {
	BackoffLimit         *int32 `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
}

// Convert returns the fields to put into a JobSpec. With TargetIndex the backoffLimit
// stays nil, and the API server defaults it. A value that the API server would reject is
// an error that names the field.
func Convert(d Draft) (Fields, error) {
	target, path := d.BackoffLimitTarget, "backoffLimitTarget"
	if p := d.PodFailurePolicy; p != nil && p.BackoffLimitTarget != "" {
		path = "podFailurePolicy.backoffLimitTarget"
		if target != "" && target != p.BackoffLimitTarget {
			return Fields{}, fmt.Errorf("%s: is %q, and backoffLimitTarget is %q", path, p.BackoffLimitTarget, target)
		}
		target = p.BackoffLimitTarget
	}
	if target != "" && target != TargetJob && target != TargetIndex {
		return Fields{}, fmt.Errorf("%s: unknown target %q, want %q or %q", path, target, TargetJob, TargetIndex)
	}
	if err := notNegative("backoffLimit", d.BackoffLimit); err != nil {
		return Fields{}, err
	}
	if target != TargetIndex {
		return Fields{BackoffLimit: clone(d.BackoffLimit)}, nil
	}
	limit := defaultLimit
	return Fields{BackoffLimitPerIndex: clone(cmp.Or(d.BackoffLimit, &limit))}, nil
}

func notNegative(name string, limit *int32) error {
	if limit != nil && *limit < 0 {
		return fmt.Errorf("%s: is %d, must be greater than or equal to 0", name, *limit)
	}
	return nil
}

// Draft returns the fields in the form of the draft, with the target next to the limit.
// The draft has only one limit: it is an error if backoffLimitPerIndex is set and
// backoffLimit is not the default of the API server, MaxInt32. A negative limit is an
// error too.
func (f Fields) Draft() (Draft, error) {
	if err := errors.Join(notNegative("backoffLimit", f.BackoffLimit),
		notNegative("backoffLimitPerIndex", f.BackoffLimitPerIndex)); err != nil {
		return Draft{}, err
	}
	if f.BackoffLimitPerIndex == nil {
		return Draft{BackoffLimit: clone(f.BackoffLimit), BackoffLimitTarget: TargetJob}, nil
	}
	if f.BackoffLimit != nil && *f.BackoffLimit != math.MaxInt32 {
		return Draft{}, errors.New("backoffLimit: the draft cannot express it next to backoffLimitPerIndex")
	}
	return Draft{BackoffLimit: clone(f.BackoffLimitPerIndex), BackoffLimitTarget: TargetIndex}, nil
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
