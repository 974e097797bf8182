// Package draft converts a backoff limit between the fields of a JobSpec and the form of the early draft of KEP-3850: a
// limit, and a target that says whether it counts the failures of the Job or of each index. The KEP rejected this form,
// Kubernetes never had it, and no framework is known to use it. The package is for specs that follow the draft.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/jobfate/jobfate/backoff"
)

// Limit is a backoff limit in the form of the draft, and is decoded from its JSON.
type Limit struct {
	// BackoffLimit is 6 when nil.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// BackoffLimitTarget is backoff.TargetJob when empty.
	BackoffLimitTarget backoff.Target `json:"backoffLimitTarget,omitempty"`
	// PodFailurePolicy holds the target in the draft, BackoffLimitTarget in the alternative that the
	// KEP rejects. If both are set, they must be equal.
	PodFailurePolicy *Policy `json:"podFailurePolicy,omitempty"`
}

// Policy is the part of the draft's pod failure policy about the backoff limit.
type Policy struct {
	// BackoffLimitTarget is that of the Limit when empty.
	BackoffLimitTarget backoff.Target `json:"backoffLimitTarget,omitempty"`
}

// Fields has the fields of a JobSpec that hold a backoff limit.
type Fields struct {
	BackoffLimit         *int32 `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
}

// Convert returns the fields to put into a JobSpec. With backoff.TargetIndex the backoffLimit
// stays nil, and the API server defaults it. A value that the API server would reject is
// an error that names the field.
func Convert(l Limit) (Fields, error) {
	target, path := l.BackoffLimitTarget, "backoffLimitTarget"
	if p := l.PodFailurePolicy; p != nil && p.BackoffLimitTarget != "" {
		path = "podFailurePolicy.backoffLimitTarget"
		if target != "" && target != p.BackoffLimitTarget {
			return Fields{}, fmt.Errorf("%s: is %q, and backoffLimitTarget is %q", path, p.BackoffLimitTarget, target)
		}
		target = p.BackoffLimitTarget
	}
	if target != "" && target != backoff.TargetJob && target != backoff.TargetIndex {
		return Fields{}, fmt.Errorf("%s: unknown target %q, want %q or %q", path, target,
			backoff.TargetJob, backoff.TargetIndex)
	}
	if err := notNegative("backoffLimit", l.BackoffLimit); err != nil {
		return Fields{}, err
	}
	if target != backoff.TargetIndex {
		return Fields{BackoffLimit: clone(l.BackoffLimit)}, nil
	}
	limit := backoff.LimitOf(nil).PerJob // the default
	return Fields{BackoffLimitPerIndex: clone(cmp.Or(l.BackoffLimit, &limit))}, nil
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
func (f Fields) Draft() (Limit, error) {
	if err := errors.Join(notNegative("backoffLimit", f.BackoffLimit),
		notNegative("backoffLimitPerIndex", f.BackoffLimitPerIndex)); err != nil {
		return Limit{}, err
	}
	if f.BackoffLimitPerIndex == nil {
		return Limit{BackoffLimit: clone(f.BackoffLimit), BackoffLimitTarget: backoff.TargetJob}, nil
	}
	if f.BackoffLimit != nil && *f.BackoffLimit != math.MaxInt32 {
		return Limit{}, errors.New("backoffLimit: the draft cannot express it next to backoffLimitPerIndex")
	}
	return Limit{BackoffLimit: clone(f.BackoffLimitPerIndex), BackoffLimitTarget: backoff.TargetIndex}, nil
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
