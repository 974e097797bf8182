package chaos

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/internal/driver"
)

var (
	schedules = effort.Flag("schedules", "number of random schedules, of 200 steps each", 250, 50_000)
	seeds     = flag.Uint64("seeds", 0, "first seed of the random schedules")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // little of the memory of a run stays alive
	os.Exit(m.Run())
}

// never lists the events that cannot happen to Jobs with a feature.
var never = map[string][]string{
	"containers restart":       {"Ignore", "Count", "FailJob", "FailIndex"}, // pod failure policies require restartPolicy Never
	"completions changed":      {"NonIndexed", "work queue"},
	"annotation edited":        {"NonIndexed", "work queue"},
	"annotation made huge":     {"NonIndexed", "work queue"},
	"annotation deleted":       {"NonIndexed", "work queue"},
	"suspended":                {"suspended"},
	"quota rejects a creation": {"suspended"}, // no creation is sent
}

// TestSchedules runs Jobs through random schedules. It also fails if an action or fault
// never happened to a Job with some feature, because a generator that misses such pairs
// proves little.
func TestSchedules(t *testing.T) {
	const shards = 8
	reports := make([]Report, shards)
	t.Run("seeds", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				total, found := &reports[shard], 0
				for n := shard; n < schedules() && found < 3; n += shards {
					r := Run(Config{Seed: *seeds + uint64(n), Mode: Mode(n / shards % 2)})
					total.Syncs, total.Writes = total.Syncs+r.Syncs, total.Writes+r.Writes
					total.Reach.Add(&r.Reach)
					if r.Violation != nil {
						t.Error(r.Story)
						found++
					}
				}
			})
		}
	})
	var sum Report
	for i := range reports {
		sum.Syncs, sum.Writes = sum.Syncs+reports[i].Syncs, sum.Writes+reports[i].Writes
		sum.Reach.Add(&reports[i].Reach)
	}
	t.Logf("%d schedules, %d syncs, %d writes", schedules(), sum.Syncs, sum.Writes)
	floor := schedules() / 5000
	for _, p := range sum.Reach.Pairs() {
		if p.Policy == verdictPending || p.Event == deletionLost {
			continue // see TestSchedules_verdicts
		}
		if p.Times < floor && !slices.Contains(never[p.Event], p.Policy) {
			t.Errorf("%q happened with %q %d times, want at least %d", p.Event, p.Policy, p.Times, floor)
		}
		if p.Times > 0 && slices.Contains(never[p.Event], p.Policy) && p.Event != "quota rejects a creation" {
			t.Errorf("%q happened with %q, which is listed as impossible", p.Event, p.Policy)
		}
	}
}

// firstOf returns the report of the first run that violates a property; of the last run if none does.
func firstOf(runs int, of func(seed uint64) Config) (r Report) {
	for seed := range uint64(runs) {
		if r = Run(of(seed)); r.Violation != nil {
			break
		}
	}
	return r
}

// TestRunIsAFunctionOfItsSeed runs each seed twice, with the same result.
func TestRunIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		a, b := Run(Config{Seed: seed, Mode: Liveness}), Run(Config{Seed: seed, Mode: Liveness})
		if a.Reach != b.Reach || a.Syncs != b.Syncs || a.Writes != b.Writes {
			t.Errorf("seed %d: %d syncs and %d writes, then %d and %d", seed, a.Syncs, a.Writes, b.Syncs, b.Writes)
		}
	}
}

// TestJobs checks that the drawn Jobs are small and valid.
func TestJobs(t *testing.T) {
	var has [len(policies)]int
	for seed := range uint64(500) {
		r := newRun(Config{Seed: seed}.orDefault(), driver.Plan{})
		if !r.begin() {
			t.Fatalf("seed %d: %v", seed, r.Violation())
		}
		for _, kind := range r.kinds {
			has[kind]++
		}
	}
	for i := range policies[:len(policies)-1] { // the last one is no feature of a Job
		if has[i] < 10 {
			t.Errorf("%d of 500 Jobs use %s", has[i], policies[i].name)
		}
	}
}
