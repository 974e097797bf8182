package functions

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

var (
	howMany = flag.Int("cases", 1_000_000, "the number of cases of each comparison")
	seed    = flag.Uint64("seed", uint64(time.Now().UnixNano()), "the seed of the random inputs")
)

// builtin holds the finalizer, labels and annotations of the built-in Job controller.
var builtin tracking.Keys

// A draw draws random values up to a size.
type draw struct {
	*rand.Rand
	size int // from 0 to 9, growing
}

// each runs a comparison for one in oneIn of the -cases, and prints what the cases reached.
func each(t *testing.T, oneIn int, compare func(t *testing.T, d draw, reached func(string))) {
	t.Helper()
	t.Parallel()
	counts := map[string]int{}
	reached := func(what string) { counts[what]++ }
	n := max(1, *howMany/oneIn)
	for i := range n {
		d := draw{rand.New(rand.NewPCG(*seed, uint64(i))), 10 * i / n}
		compare(t, d, reached)
		if t.Failed() {
			t.Fatalf("case %d of seed %d", i, *seed)
		}
	}
	t.Logf("%d cases", n)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%8d %s", counts[what], what)
	}
}

// percent returns true with a probability of n percent.
func (d draw) percent(n int) bool { return d.IntN(100) < n }

// upTo draws a number from 0 to most. While cases are small, the maximum is lower.
func (d draw) upTo(most int) int { return d.IntN(min(most, 1+most*d.size/9) + 1) }

func pick[T any](d draw, values ...T) T { return values[d.IntN(len(values))] }

var text = podtest.ToJSON
