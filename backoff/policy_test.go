package backoff_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var (
	t0      = time.Date(2026, time.March, 4, 5, 6, 7, 800, time.UTC)
	longest = time.Duration(math.MaxInt64)
)

// KEP-3850, Exponential backoff delay issue: "a pod is recreated by the Job
// controller with exponential backoff delay (10s, 20s, 40s …)".
func TestDelayOfTheJobController(t *testing.T) {
	for failures, want := range map[int32]time.Duration{
		math.MinInt32: 0,
		-1:            0,
		0:             0,
		1:             10 * time.Second,
		2:             20 * time.Second,
		3:             40 * time.Second,
		6:             320 * time.Second,
		7:             10 * time.Minute, // 640s is above the cap
		8:             10 * time.Minute,
		63:            10 * time.Minute,
		64:            10 * time.Minute,
		65:            10 * time.Minute,
		math.MaxInt32: 10 * time.Minute,
	} {
		Same(t, fmt.Sprintf("Delay(%d)", failures), (backoff.Policy{}).Delay(failures), want)
	}
}

func TestDelayOfOtherPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		policy   backoff.Policy
		failures int32
		want     time.Duration
	}{
		"negative base and cap mean the default": {backoff.Policy{Base: -1, Cap: -1}, 1, 10 * time.Second},
		"negative cap means the default":         {backoff.Policy{Cap: -1}, 100, 10 * time.Minute},
		"cap is met exactly":                     {backoff.Policy{Cap: 40 * time.Second}, 3, 40 * time.Second},
		"minus infinity counts as 1":             {backoff.Policy{Factor: math.Inf(-1)}, 3, 10 * time.Second},
		"NaN counts as 1":                        {backoff.Policy{Factor: math.NaN()}, 3, 10 * time.Second},
		"infinite factor, first":                 {backoff.Policy{Factor: math.Inf(1)}, 1, 10 * time.Second},
		"longest cap, reached":                   {backoff.Policy{Base: 1, Cap: longest}, 64, longest},
		"longest base and cap":                   {backoff.Policy{Base: longest, Cap: longest}, 2, longest},
		"factor 1 is exact":                      {backoff.Policy{Base: longest - 1, Cap: longest, Factor: 1}, 9, longest - 1},
		"large base, tiny growth":                {backoff.Policy{Base: 1<<62 + 1, Cap: longest, Factor: math.Nextafter(1, 2)}, 2, 1<<62 + 1024},
		"factor 2 is exact":                      {backoff.Policy{Base: 1<<53 + 1, Cap: 1<<54 + 3}, 2, 1<<54 + 2},
		"growth to exactly 2^63":                 {backoff.Policy{Base: 1 << 61, Cap: longest, Factor: 4}, 2, longest},
		"a cap that floating point rounds down": {backoff.Policy{Base: 1<<53 + 3, Cap: 1<<53 + 5, Factor: math.Nextafter(1, 2)},
			2, 1<<53 + 5},
		"a cap that floating point rounds up": {backoff.Policy{Base: 1 << 53, Cap: 1<<53 + 3, Factor: math.Nextafter(1, 2)},
			2, 1<<53 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, fmt.Sprintf("%+v.Delay(%d)", tc.policy, tc.failures), tc.policy.Delay(tc.failures), tc.want)
		})
	}
}

// durations generates mostly usual durations, and sometimes extreme ones.
func durations() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(1, 3600), func(s int64) time.Duration { return time.Duration(s) * time.Second }),
		rapid.Map(rapid.Int64Range(1, math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
	)
}

func failureCounts() *rapid.Generator[int32] {
	return rapid.OneOf(rapid.Int32Range(-1, 70), rapid.Int32())
}

// checkDelay compares Delay and Remaining with the oracle. FuzzDelay calls it too.
//
// No pod is replaced before the last failure + min(base·factorⁿ⁻¹, cap), and nothing overflows.
func checkDelay(t rapid.TB, p backoff.Policy, n int32, last, now time.Time) {
	t.Helper()
	got := p.Delay(n)
	want, exact := slowDelay(p, n)
	slack := new(big.Float) // what floating point and rounding down to nanoseconds may differ by
	if !exact {
		slack.Mul(want, big.NewFloat(1e-6)).Add(slack, big.NewFloat(1))
	}
	off := new(big.Float).SetPrec(256).SetInt64(int64(got))
	if off.Sub(off, want).Abs(off).Cmp(slack) > 0 {
		t.Fatalf("%+v.Delay(%d) = %d, want %v", p, n, got, want)
	}
	if n < math.MaxInt32 && p.Delay(n+1) < got { // "the delay must not decrease"
		t.Fatalf("%+v.Delay(%d) = %d, less than Delay(%d) = %d", p, n+1, p.Delay(n+1), n, got)
	}
	Same(t, fmt.Sprintf("%+v.Remaining(%d, %v, %v)", p, n, last, now), p.Remaining(n, last, now), slowRemaining(got, last, now))
}

func TestDelayAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := backoff.Policy{
			Base:   durations().Draw(t, "base"),
			Cap:    durations().Draw(t, "cap"),
			Factor: rapid.OneOf(rapid.Just(2.0), rapid.Float64Range(1, 10), rapid.Float64Range(-10, 1), rapid.Just(math.NaN())).Draw(t, "factor"),
		}
		elapsed := rapid.OneOf(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)), rapid.Int64()).Draw(t, "elapsed")
		centuries := rapid.SampledFrom([]int{0, 0, 0, 5, -5}).Draw(t, "centuries") // a Duration holds less than three
		now := t0.AddDate(100*centuries, 0, 0).Add(time.Duration(elapsed))
		checkDelay(t, p, failureCounts().Draw(t, "failures"), t0, now)
	})
}
