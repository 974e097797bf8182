package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
)

func ExamplePolicy_Due() {
	pending := indexset.Range(0, 9).Difference(indexset.Of(2, 3)) // these are done
	noon := time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)
	failures := map[int32]backoff.Record{
		1: {Failures: 1, LastFailure: noon.Add(-10 * time.Second)},
		4: {Failures: 2, LastFailure: noon.Add(-5 * time.Second)},
		5: {Failures: 3, LastFailure: noon},
	}
	due := backoff.Policy{}.Due(pending, failures, noon)
	fmt.Println(due.Now, "may run now, the next in", due.Next)
	// Output: 0,1,6-9 may run now, the next in 15s
}

// Each index by itself: it is due, or it waits for its delay.
func TestDue_oracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := backoff.Policy{Base: time.Duration(rapid.IntRange(0, 3).Draw(t, "base")) * time.Second}
		pending, failures, now := map[int32]bool{}, map[int32]backoff.Record{}, t0.Add(time.Minute)
		var set indexset.Builder
		for i := range int32(8) {
			if rapid.Bool().Draw(t, "pending") {
				pending[i] = true
				set.Add(i)
			}
			if n := rapid.Int32Range(-1, 4).Draw(t, "failures"); n != 0 {
				failures[i] = backoff.Record{Failures: n, LastFailure: t0.Add(time.Duration(rapid.IntRange(20, 70).Draw(t, "second")) * time.Second)}
			}
		}
		got := policy.Due(set.Set(), failures, now)
		next := time.Duration(0)
		for i := range int32(8) {
			due := failures[i].LastFailure.Add(policy.Delay(failures[i].Failures))
			waits := pending[i] && failures[i].Failures > 0 && due.After(now)
			if got.Now.Contains(i) != (pending[i] && !waits) {
				t.Fatalf("index %d: due %t, waits %t", i, got.Now.Contains(i), waits)
			}
			if left := due.Sub(now); waits && (next == 0 || left < next) {
				next = left
			}
		}
		if got.Next != next {
			t.Fatalf("next in %s, want %s", got.Next, next)
		}
	})
}
