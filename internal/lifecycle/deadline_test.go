package lifecycle_test

import (
	"math"
	"testing"
	"time"

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
