package backoff

import (
	"math"
	"time"
)

// Policy defines how the delay before a replacement grows with consecutive failures. The
// zero Policy is that of the Job controller.
type Policy struct {
	// Base is the delay after one failure. Values of zero or less mean 10 seconds.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}ms)?$`
	Base time.Duration `json:"base,omitempty"`
	// Cap is the longest delay. Values of zero or less mean 10 minutes. Cap also applies
	// to the first delay: if Base is above Cap, every delay is Cap.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}h)?([0-9]{1,7}m)?([0-9]{1,9}(\.[0-9]{1,9})?s)?([0-9]{1,9}ms)?$`
	Cap time.Duration `json:"cap,omitempty"`
	// Factor multiplies the delay for each further failure. Zero means 2. NaN and all
	// other values below 1 mean 1, because the delay must not decrease.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=number
	// +kubebuilder:validation:Minimum=1
	Factor float64 `json:"factor,omitempty"`
}

// orDefault returns the policy with the defaults of the Job controller.
func (p Policy) orDefault() Policy {
	if p.Base <= 0 {
		p.Base = 10 * time.Second
	}
	if p.Cap <= 0 {
		p.Cap = 10 * time.Minute
	}
	switch {
	case p.Factor == 0:
		p.Factor = 2
	case !(p.Factor >= 1): // true for NaN
		p.Factor = 1
	}
	return p
}

// Delay returns the delay after the given number of consecutive failures: Base for the
// first, multiplied by Factor for each further one, at most Cap. It returns zero if
// failures is zero or less.
func (p Policy) Delay(failures int32) time.Duration {
	if failures <= 0 {
		return 0
	}
	p = p.orDefault()
	steps := failures - 1
	switch {
	case steps == 0 || p.Factor == 1:
		return min(p.Base, p.Cap)
	case p.Factor == 2 && p.Base <= p.Cap>>steps:
		// The usual factor needs no floating point, so it is exact.
		return p.Base << steps
	}
	grown := float64(p.Base) * math.Pow(p.Factor, float64(steps))
	if grown < float64(p.Cap) { // then grown is below the exact Cap too, whichever way it was rounded
		return time.Duration(grown)
	}
	return p.Cap
}

// Remaining returns the rest of the delay at the time now, after the given number of
// consecutive failures, the last of them at the time last. It returns zero if the delay is
// over or if there are no failures. If last is in the future, because a clock was set
// back, the full delay starts at last, as in the Job controller.
func (p Policy) Remaining(failures int32, last, now time.Time) time.Duration {
	if failures <= 0 {
		return 0
	}
	return max(last.Add(p.Delay(failures)).Sub(now), 0)
}
