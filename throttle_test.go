package jobfate

import (
	"math"
	"testing"
	"time"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// KEP-2307 § Algorithm: "Steps 2 to 4 might be skipped in the scenario where a
// status update happened too recently and the number of uncounted Pods is a small
// percentage of parallelism."
func TestThrottled(t *testing.T) {
	tenth := tracking.Throttle{Every: 10 * time.Second, Share: 0.1}
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, tc := range []struct {
		reason      string
		throttle    tracking.Throttle
		last        time.Time
		recorded    int
		parallelism int32
		want        time.Duration
	}{
		{"too recent and few", tenth, ago(4 * time.Second), 10, 100, 6 * time.Second},
		{"more than a small part", tenth, ago(4 * time.Second), 11, 100, 0},
		{"long ago", tenth, ago(10 * time.Second), 1, 100, 0},
		{"very long ago", tenth, ago(time.Hour), 1, 100, 0},
		{"just now", tenth, noon, 0, 100, 10 * time.Second},
		{"no parallelism, nothing recorded", tenth, noon, 0, 0, 10 * time.Second},
		{"no parallelism", tenth, noon, 1, 0, 0},
		{"no status was written", tenth, time.Time{}, 0, 100, 0},
		{"the clock went back", tenth, noon.Add(time.Nanosecond), 0, 100, 0},
		{"the zero Throttle", tracking.Throttle{}, noon, 0, 100, 0},
		{"a share of 1", tracking.Throttle{Every: time.Second, Share: 1}, noon, math.MaxInt32, math.MaxInt32, time.Second},
	} {
		Same(t, tc.reason, throttled(tc.throttle, tc.last, noon, tc.recorded, tc.parallelism), tc.want)
	}
}
