package validation

import (
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// TestWarnings checks the warnings about the Jobs of testdata/warnings, and the advice.
func TestWarnings(t *testing.T) {
	eachCase(t, "warnings", func(t *testing.T, c testCase) {
		job := c.job(t)
		Same(t, "warnings", Warnings(job), c.want[""])
		Same(t, "advice", Advice(job), c.want["Advice"])
	})
}

func TestStatusAdvice(t *testing.T) {
	list := func(size int) string { return strings.Repeat("1,", size)[:size] }
	status := func(completed, failed int) *batchv1.JobStatus {
		f := list(failed)
		return &batchv1.JobStatus{CompletedIndexes: list(completed), FailedIndexes: &f}
	}
	for _, c := range []struct {
		status *batchv1.JobStatus
		want   string // what the warning ends with; empty for none
	}{
		{nil, ""},
		{&batchv1.JobStatus{}, ""},
		{&batchv1.JobStatus{CompletedIndexes: list(479_999)}, ""},
		{&batchv1.JobStatus{CompletedIndexes: list(480_000)}, "take 480000 bytes together, 80% of the 600000 that KEP-3850 accepts"},
		{status(300_000, 179_999), ""},
		{status(300_000, 210_000), "take 510000 bytes together, 85% of the 600000 that KEP-3850 accepts"},
		{status(900_000, 0), "take 900000 bytes together, 150% of the 600000 that KEP-3850 accepts"},
	} {
		got := strings.Join(StatusAdvice(c.status), "\n")
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("got %q, want it to end with %q", got, c.want)
		}
	}
}

// The exported limits are those that the rules enforce: a spec at the limit is valid, and a
// spec above it is not.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit int
		set   func(*batchv1.JobSpec, int)
	}{
		"MaxIndexedParallelism": {MaxIndexedParallelism, func(s *batchv1.JobSpec, n int) { s.Parallelism = new(int32(n)) }},
		"MaxFailedIndexes": {MaxFailedIndexes, func(s *batchv1.JobSpec, n int) {
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = new(int32(1)), new(int32(n))
			s.Completions = new(int32(HighCompletions))
		}},
		"HighCompletions": {HighCompletions, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(n)), new(int32(1))
		}},
		"HighCompletionsParallelism": {HighCompletionsParallelism, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(HighCompletions+1)), new(int32(1))
			s.MaxFailedIndexes, s.Parallelism = new(int32(1)), new(int32(n))
		}},
		"HighCompletionsFailedIndexes": {HighCompletionsFailedIndexes, func(s *batchv1.JobSpec, n int) {
			s.Completions, s.BackoffLimitPerIndex = new(int32(HighCompletions+1)), new(int32(1))
			s.MaxFailedIndexes = new(int32(n))
		}},
	} {
		spec := batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5)), Parallelism: new(int32(1))}
		c.set(&spec, c.limit)
		if errs := indexedLimits(&spec); len(errs) > 0 {
			t.Errorf("%s: at the limit: %v", name, errs)
		}
		c.set(&spec, c.limit+1)
		if errs := indexedLimits(&spec); len(errs) == 0 || !strings.Contains(errs[len(errs)-1].Detail, strconv.Itoa(c.limit)) {
			t.Errorf("%s: above the limit: got %v, want an error that names it", name, errs)
		}
	}
}
