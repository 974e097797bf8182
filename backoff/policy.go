package backoff

import (
	"math"
	"time"
)

// The numbers of the Job controller.
const (
	defaultBase   = 10 * time.Second
	defaultCap    = 10 * time.Minute
	defaultFactor = 2
)

// Policy says how the delay before a replacement grows with failures in a row.
// The zero Policy is the one of the Job controller.
type Policy struct {
	// Base is the delay after one failure. Zero and below mean 10 seconds.
	Base time.Duration
	// Cap is the longest delay. Zero and below mean 10 minutes. It holds for
	// the first delay too: with a Base above Cap every delay is Cap.
	Cap time.Duration
	// Factor is what each further failure multiplies the delay with. Zero means
	// 2. NaN and all else below 1 mean 1, for a delay must not shrink.
	Factor float64
}

func (p Policy) orDefault() Policy {
	if p.Base <= 0 {
		p.Base = defaultBase
	}
	if p.Cap <= 0 {
		p.Cap = defaultCap
	}
	if p.Factor == 0 {
		p.Factor = defaultFactor
	}
	if !(p.Factor >= 1) { // true for NaN
		p.Factor = 1
	}
	return p
}

// Delay returns the delay after so many failures in a row: Base for the first,
// times Factor for each further one, never above Cap. It is zero for zero
// failures and below.
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
	if grown < float64(p.Cap) { // then it is below Cap too, however that was rounded
		return time.Duration(grown)
	}
	return p.Cap
}

// Remaining returns what is left at now of the delay after so many failures in
// a row, the last of them at last. It is zero when the delay is over or when
// there are no failures. With a last in the future, because a clock went back,
// the delay still runs in full from there, as in the Job controller.
func (p Policy) Remaining(failures int32, last, now time.Time) time.Duration {
	if failures <= 0 {
		return 0
	}
	delay, elapsed := p.Delay(failures), now.Sub(last) // Sub saturates
	switch {
	case elapsed >= delay:
		return 0
	case elapsed < delay-math.MaxInt64: // delay-elapsed would overflow
		return math.MaxInt64
	}
	return delay - elapsed
}
