package chaos

import (
	"flag"
	"fmt"
	"testing"

	"github.com/jobfate/jobfate/jobtest/effort"
)

var (
	traces   = effort.Flag("traces", "number of lives in which the controller is killed at every write", 5, 200)
	pairs    = flag.Int("pairs", 12, "also kill it at every pair of writes, in lives with at most this number of writes")
	lifeSeed = flag.Uint64("lives", 0, "first seed of the lives")
)

// TestCrashes kills the controller before and after every write of many lives.
func TestCrashes(t *testing.T) {
	const shards = 4
	var reports [shards]CrashReport
	t.Run("lives", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				total, found := &reports[shard], 0
				for n := shard; n < traces() && found < 3; n += shards {
					r := Crashes(Config{Seed: *lifeSeed + uint64(n)}, *pairs)
					total.add(r)
					if r.Violation != nil {
						t.Errorf("seed %d: %s", *lifeSeed+uint64(n), r.Story)
						found++
					}
				}
			})
		}
	})
	var sum CrashReport
	for _, r := range reports {
		sum.add(r)
	}
	t.Logf("%d lives with %d writes; %d runs with a crash, %d of them with two; %d ended differently and are accepted",
		traces(), sum.Writes, sum.Runs, sum.Pairs, sum.Excused)
	if sum.Runs < 20*traces() || sum.Excused*50 > sum.Runs {
		t.Errorf("%d runs, %d of which were excused; want 20 for each life, and at most 2 %% excused", sum.Runs, sum.Excused)
	}
}

func (r *CrashReport) add(o CrashReport) {
	r.Writes, r.Runs, r.Pairs, r.Excused = r.Writes+o.Writes, r.Runs+o.Runs, r.Pairs+o.Pairs, r.Excused+o.Excused
}
