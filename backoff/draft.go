package backoff

import (
	"errors"
	"fmt"
	"math"
)

// Draft is a backoff limit as the first draft of KEP-3850 spelled it: one limit
// and whom it is for. Some frameworks still spell it so.
type Draft struct {
	// BackoffLimit is 6 when nil.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// BackoffLimitTarget is TargetJob when empty.
	BackoffLimitTarget Target `json:"backoffLimitTarget,omitempty"`
}

// Fields are the fields of a JobSpec that hold a backoff limit.
type Fields struct {
	BackoffLimit         *int32 `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
}

// Convert returns the fields to put into a JobSpec. With TargetIndex the
// backoffLimit stays nil, for the API server to fill in.
func Convert(d Draft) (Fields, error) {
	switch d.BackoffLimitTarget {
	case "", TargetJob:
		return Fields{BackoffLimit: clone(d.BackoffLimit)}, nil
	case TargetIndex:
		perIndex := defaultLimit
		if d.BackoffLimit != nil {
			perIndex = *d.BackoffLimit
		}
		return Fields{BackoffLimitPerIndex: &perIndex}, nil
	}
	return Fields{}, fmt.Errorf("backoffLimitTarget: unknown target %q, want %q or %q",
		d.BackoffLimitTarget, TargetJob, TargetIndex)
}

// Draft returns the fields in the spelling of the draft. That has room for one
// limit only: a backoffLimitPerIndex next to a backoffLimit other than the
// MaxInt32 that the API server fills in is an error.
func (f Fields) Draft() (Draft, error) {
	if f.BackoffLimitPerIndex == nil {
		return Draft{BackoffLimit: clone(f.BackoffLimit), BackoffLimitTarget: TargetJob}, nil
	}
	if f.BackoffLimit != nil && *f.BackoffLimit != math.MaxInt32 {
		return Draft{}, errors.New("backoffLimit: backoffLimitTarget has no room for it next to backoffLimitPerIndex")
	}
	return Draft{BackoffLimit: clone(f.BackoffLimitPerIndex), BackoffLimitTarget: TargetIndex}, nil
}

func clone(p *int32) *int32 {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
