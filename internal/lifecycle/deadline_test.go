package lifecycle_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// A deadline above 9.2×10^9 seconds overflowed, and the Job failed at once.
func TestLesson_deadlineOverflow(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, tc := range []struct {
		reason  string
		seconds int64
		start   time.Time
		want    time.Duration
	}{
		{"usual", 60, After(-20).Time, 40 * time.Second},
		{"just passed", 60, After(-60).Time, 0},
		{"passed", 60, After(-90).Time, -30 * time.Second},
		{"a start in the future", 60, After(20).Time, 80 * time.Second},
		{"at once", 0, Noon(), 0},
		{"negative", -5, Noon(), 0},
		{"the least", math.MinInt64, time.Time{}, math.MinInt64},
		{"9.2×10^9 s", 9_223_372_037, Noon(), longest.Truncate(time.Second)},
		{"the greatest", math.MaxInt64, Noon(), longest.Truncate(time.Second)},
		{"the greatest, and a start in the future", math.MaxInt64, After(20).Time, longest},
		{"a start that no duration reaches", 60, Noon().AddDate(500, 0, 0), longest},
		{"a start ages ago", 60, time.Time{}, math.MinInt64},
		{"a start ages ago and the greatest", math.MaxInt64, time.Time{}, math.MinInt64},
	} {
		Same(t, tc.reason+": Deadline", lifecycle.Deadline(tc.seconds, tc.start, Noon()), tc.want)
	}
}

// slowDeadline computes the deadline with unbounded integers, and then saturates as
// Deadline documents.
func slowDeadline(seconds int64, start, now time.Time) time.Duration {
	longest := big.NewInt(math.MaxInt64)
	second := big.NewInt(int64(time.Second))
	clamp := func(n, low, high *big.Int) *big.Int {
		if n.Cmp(low) < 0 {
			return low
		}
		if n.Cmp(high) > 0 {
			return high
		}
		return n
	}
	allowed := clamp(big.NewInt(seconds), new(big.Int), new(big.Int).Div(longest, second))
	allowed = new(big.Int).Mul(allowed, second)
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), second)
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	left := allowed.Add(allowed, nanos(start))
	return time.Duration(clamp(left.Sub(left, nanos(now)), big.NewInt(math.MinInt64), longest).Int64())
}

func TestRandom_deadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64().Draw(t, "seconds")
		start := time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "start"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		now := time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "now"), 0)
		Same(t, "Deadline", lifecycle.Deadline(seconds, start, now), slowDeadline(seconds, start, now))
	})
}
