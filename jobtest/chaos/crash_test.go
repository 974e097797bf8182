package chaos

import (
	"flag"
	"testing"
	"time"
)

var (
	traces    = flag.Int("traces", 240, "number of lives in which the controller is killed at every write")
	maxWrites = flag.Int("pairs", 12, "kill it at every two writes in lives of at most so many writes")
)

// TestCrashes kills the controller at every write of many lives.
func TestCrashes(t *testing.T) {
	start := time.Now()
	var total CrashReport
	paired := 0
	bad := 0
	for seed := range *traces {
		r := Crashes(Config{Seed: uint64(seed)}, *maxWrites)
		total.Writes += r.Writes
		total.Runs += r.Runs
		total.Pairs += r.Pairs
		total.Excused += r.Excused
		if r.Pairs > 0 {
			paired++
		}
		if r.Violation != nil {
			bad++
			if bad < 4 {
				t.Errorf("seed %d: %s", seed, r.Story)
			}
		}
	}
	t.Logf("%d lives with %d writes, %d with a crash, of which %d lives and %d runs with two, %d excused, %d bad %v", *traces, total.Writes, total.Runs, paired, total.Pairs, total.Excused, bad, time.Since(start))
}
