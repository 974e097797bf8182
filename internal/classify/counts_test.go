package classify_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func annotations(failures, ignored string) map[string]string {
	return map[string]string{
		batchv1.JobIndexFailureCountAnnotation:        failures,
		batchv1.JobIndexIgnoredFailureCountAnnotation: ignored,
	}
}

func TestCountsOf(t *testing.T) {
	counts := map[string]int32{"0": 0, "1": 1, "007": 7, "+3": 3, "2147483647": math.MaxInt32}
	for _, none := range []string{"2147483648", "9223372036854775808", "99999999999999999999999999",
		"-0", "-1", "-2147483649", "", " 1", "1_000", "0x10", "1.5", "one"} {
		counts[none] = 0
	}
	for value, want := range counts {
		Same(t, fmt.Sprintf("CountsOf(failures %q)", value), classify.CountsOf(&names, annotations(value, "5")), classify.Counts{Failures: want, Ignored: 5})
		Same(t, fmt.Sprintf("CountsOf(ignored %q)", value), classify.CountsOf(&names, annotations("5", value)), classify.Counts{Failures: 5, Ignored: want})
	}
	for _, none := range []map[string]string{nil, {}, {"other": "3"}} {
		Same(t, fmt.Sprintf("CountsOf(%v)", none), classify.CountsOf(&names, none), classify.Counts{})
	}
}

func TestCountsCompare(t *testing.T) {
	const most = math.MaxInt32
	inOrder := []classify.Counts{
		{}, {Failures: 1}, {Failures: 1, Ignored: 1}, {Ignored: 3}, {Failures: most, Ignored: 1}, {Failures: 2, Ignored: most}, {Failures: most, Ignored: most},
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			Same(t, fmt.Sprintf("%+v.Compare(%+v)", a, b), a.Compare(b), min(max(i-j, -1), 1))
		}
	}
	Same(t, "Compare of 3 failures and 3 failures", (classify.Counts{Failures: 2, Ignored: 1}).Compare(classify.Counts{Ignored: 3}), 0)
}

// KEP-3850: "if x is the highest batch.kubernetes.io/job-index-failure-count for
// the index, the newly created pod will have the annotation set to x+1. An
// exception is when the newly failed pod matches the Ignore action".
func TestCountsTotalAndNext(t *testing.T) {
	const most = math.MaxInt32
	for _, tc := range []struct {
		counts         classify.Counts
		total          int32
		counted, spare classify.Counts // the results of Next(true) and Next(false)
	}{
		{classify.Counts{}, 0, classify.Counts{Failures: 1}, classify.Counts{Ignored: 1}},
		{classify.Counts{Failures: 3, Ignored: 2}, 5, classify.Counts{Failures: 4, Ignored: 2}, classify.Counts{Failures: 3, Ignored: 3}},
		{classify.Counts{Failures: most}, most, classify.Counts{Failures: most}, classify.Counts{Failures: most, Ignored: 1}},
		{classify.Counts{Failures: most, Ignored: most}, most, classify.Counts{Failures: most, Ignored: most}, classify.Counts{Failures: most, Ignored: most}},
		{classify.Counts{Failures: most - 1, Ignored: 1}, most, classify.Counts{Failures: most, Ignored: 1}, classify.Counts{Failures: most - 1, Ignored: 2}},
	} {
		Same(t, fmt.Sprintf("%+v.Total()", tc.counts), tc.counts.Total(), tc.total)
		Same(t, fmt.Sprintf("%+v.Next(true)", tc.counts), tc.counts.Next(true), tc.counted)
		Same(t, fmt.Sprintf("%+v.Next(false)", tc.counts), tc.counts.Next(false), tc.spare)
	}
}

func TestAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		counts  classify.Counts
		in, out map[string]string
	}{
		// KEP-3850: "It is set to 0 for the first pod created for a given index."
		"first pod": {classify.Counts{}, map[string]string{},
			map[string]string{batchv1.JobIndexFailureCountAnnotation: "0"}},
		"other annotations are kept": {classify.Counts{Failures: 2}, map[string]string{"a": "b"},
			map[string]string{"a": "b", batchv1.JobIndexFailureCountAnnotation: "2"}},
		"ignored above zero":                    {classify.Counts{Failures: 2, Ignored: 1}, annotations("x", "y"), annotations("2", "1")},
		"ignored of the template stays at zero": {classify.Counts{Failures: 2}, annotations("x", "y"), annotations("2", "y")},
	} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(tc.in, tc.counts.Annotations(&names))
			Same(t, fmt.Sprintf("annotations of %+v", tc.counts), tc.in, tc.out)
		})
	}
}

// KEP-3850 § Scalability: the annotation "Is around 50 bytes".
func TestAnnotations_size(t *testing.T) {
	for _, failures := range []int32{0, 10, math.MaxInt32} {
		size, counts := 0, classify.Counts{Failures: failures}
		for key, value := range counts.Annotations(&names) {
			size += len(key) + len(value)
		}
		if size < 43 || size > 53 {
			t.Errorf("%d failures take %d bytes, want about 50", failures, size)
		}
	}
}

func TestCountsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := classify.Counts{
			Failures: rapid.Int32Min(0).Draw(t, "failures"),
			Ignored:  rapid.Int32Min(0).Draw(t, "ignored"),
		}
		Same(t, "read back", classify.CountsOf(&names, want.Annotations(&names)), want)
	})
}
