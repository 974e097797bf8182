package validation

import (
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
)

const mi = 1 << 20

func sizeOf(completions, parallelism int32, perIndex bool, maxFailed *int32) Size {
	spec := batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), Completions: &completions, Parallelism: &parallelism,
		MaxFailedIndexes: maxFailed,
	}
	if perIndex {
		spec.BackoffLimitPerIndex = new(int32(1))
	}
	return IndexesSize(&spec)
}

// KEP-3850, Risks, "The Job object too big".
func TestIndexesSizeOfTheKEP(t *testing.T) {
	first := sizeOf(100_000, 100_000, true, nil)
	second := sizeOf(math.MaxInt32, 10_000, true, new(int32(10_000)))
	regular := sizeOf(100_000, 100_000, false, nil)
	for _, c := range []struct {
		sentence string
		got      int64
		want     float64
	}{
		{"the total sum of both fields is limited by (5+1)*10^5=0.572Mi", first.Both, 0.572},
		{"the size of the completedIndexes field is limited by: (10+1)*2*(10^4+10^4)=0.42Mi", second.Completed, 0.42},
		{"The size of the failedIndexes field is limited by: (10+1)*10^4=0.105Mi", second.Failed, 0.105},
		{"the size of both fields is capped at 0.572Mi for the limits in (1.) and 0.525Mi for the limits in (2.)", second.Both, 0.525},
		{"the max size of the .status.completedIndexes was limited by (5+1)*10^5*2/3=0.382Mi in the (1.) case", regular.Completed, 0.382},
		{"and (10+1)*2*10^4=0.21Mi in the (2.) case", sizeOf(math.MaxInt32, 10_000, false, nil).Completed, 0.21},
		{"This means an increase of 0.19Mi.", max(first.Both, second.Both) - regular.Both, 0.19},
	} {
		if got := float64(c.got) / mi; math.Abs(got-c.want) > 0.001 {
			t.Errorf("got %.4fMi, want %.3fMi: %q", got, c.want, c.sentence)
		}
	}
	Same(t, "bytes of both fields in case 1", first.Both, (5+1)*100_000)
	// The KEP overlooks that n gaps separate n+1 intervals.
	Same(t, "bytes of both fields in case 2", second.Both, (10+1)*2*(10_000+10_000+1)+(10+1)*10_000)
	Same(t, "the overrun in case 1, where each index is listed already", first.Overrun, 0)
	Same(t, "the overrun in case 2: all of parallelism may fail at once", second.Overrun, (10+1)*10_000)
}

// The outcome of an index in the patterns of these tests.
const (
	done    = 'c'
	broken  = 'f'
	waiting = '.'
)

// encode builds the two lists. All indexes below first are completed; pattern returns the
// outcome of each later one, by its distance from first.
func encode(first, end int64, pattern func(i int64) byte) (completedIndexes, failedIndexes string) {
	var c, f indexset.Builder
	c.AddRange(0, int32(first-1))
	for i := first; i < end; i++ {
		switch pattern(i - first) {
		case done:
			c.Add(int32(i))
		case broken:
			f.Add(int32(i))
		}
	}
	return c.Set().String(), f.Set().String()
}

func repeat(s string) func(int64) byte {
	return func(i int64) byte { return s[i%int64(len(s))] }
}

// The worst lists that can be built come close to the bounds.
func TestIndexesSizeIsReached(t *testing.T) {
	near := func(name string, got int, bound int64) {
		t.Helper()
		if int64(got) > bound || float64(got) < 0.97*float64(bound) {
			t.Errorf("%s takes %d bytes, want at most the bound of %d and near it", name, got, bound)
		}
	}
	first := sizeOf(100_000, 100_000, true, nil)
	c, f := encode(0, 100_000, repeat("cf"))
	near("every index listed", len(c)+len(f), first.Both)
	c, _ = encode(0, 100_000, repeat("cc."))
	near("every third missing", len(c), first.Completed)
	_, f = encode(0, 100_000, repeat("ff."))
	near("every third not failed", len(f), first.Failed)

	second := sizeOf(math.MaxInt32, 10_000, true, new(int32(10_000)))
	c, f = encode(math.MaxInt32-60_002, math.MaxInt32, repeat("cc.ccf"))
	near("pairs between gaps", len(c), second.Completed)
	near("failed gaps", len(f), second.Failed)
	near("both", len(c)+len(f), second.Both)
	// All running indexes fail in one sync, each in its own gap.
	c, f = encode(math.MaxInt32-60_002, math.MaxInt32, repeat("ccf"))
	near("both, with the overrun", len(c)+len(f), second.Both+second.Overrun)

	regular := sizeOf(1_000_000, 100_000, false, nil)
	c, _ = encode(1_000_000-300_002, 1_000_000, repeat("cc."))
	near("a regular Job", len(c), regular.Completed)
	near("a regular Job", len(c), regular.Both)
	Same(t, "failedIndexes of a regular Job, which has no such list", regular.Failed+regular.Overrun, 0)
}

// Every way in which a few indexes can end stays within the bounds.
func TestIndexesSizeOfEveryOutcome(t *testing.T) {
	for completions := int64(1); completions <= 7; completions++ {
		outcomes := int64(math.Pow(3, float64(completions)))
		for parallelism := int64(0); parallelism <= completions; parallelism++ {
			for maxFailed := int64(0); maxFailed <= completions; maxFailed++ {
				size := sizeOf(int32(completions), int32(parallelism), true, new(int32(maxFailed)))
				regular := sizeOf(int32(completions), int32(parallelism), false, nil)
				for n := range outcomes {
					checkOutcome(t, outcomeOf(n, completions), parallelism, maxFailed, size, regular)
				}
			}
		}
	}
}

// outcomeOf writes a number to base 3.
func outcomeOf(n, completions int64) string {
	text := make([]byte, completions)
	for i := range text {
		text[i] = "cf."[n%3]
		n /= 3
	}
	return string(text)
}

func checkOutcome(t *testing.T, outcome string, parallelism, maxFailed int64, size, regular Size) {
	t.Helper()
	var failedCount, gaps, pending int64
	for _, mark := range outcome {
		switch mark {
		case broken:
			failedCount++
		case waiting:
			pending++ // a gap only if a later index has ended
			continue
		}
		gaps, pending = gaps+pending, 0
	}
	c, f := encode(0, int64(len(outcome)), func(i int64) byte { return outcome[i] })
	fail := func(what string, got int, bound int64) {
		t.Helper()
		if int64(got) > bound {
			t.Errorf("outcome %q, parallelism %d, maxFailedIndexes %d: %s takes %d bytes, want at most %d", outcome, parallelism, maxFailed, what, got, bound)
		}
	}
	switch {
	case gaps <= parallelism && failedCount <= maxFailed:
		fail("completedIndexes", len(c), size.Completed)
		fail("failedIndexes", len(f), size.Failed)
		fail("both", len(c)+len(f), size.Both)
	case gaps+failedCount <= parallelism+maxFailed:
		fail("completedIndexes", len(c), size.Completed)
		fail("both with the overrun", len(c)+len(f), size.Both+size.Overrun)
	}
	if gaps <= parallelism && failedCount == 0 {
		fail("a regular Job's completedIndexes", len(c), regular.Completed)
	}
}

func TestIndexesSizeOfNothing(t *testing.T) {
	for name, spec := range map[string]*batchv1.JobSpec{
		"not indexed":          {Completions: new(int32(5))},
		"no completions":       {CompletionMode: new(batchv1.IndexedCompletion)},
		"zero completions":     {CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(0))},
		"negative completions": {CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(-1))},
	} {
		Same(t, name, IndexesSize(spec), Size{})
	}
	Same(t, "one index with negative limits", sizeOf(1, -5, true, new(int32(-5))), Size{Completed: 2, Both: 2})
}
