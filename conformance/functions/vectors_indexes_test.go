package functions

import (
	"math"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/vectors"
)

var aboutIndexes = []subject{
	{
		name: "readIndexes", oracle: "parseIndexesFromString", divergence: always("canonical-indexes"),
		draw: func(d draw) any { return d.indexText() },
		kubernetes: asks(func(in vectors.IndexText, out *vectors.ReadText) {
			out.Indexes = real.ParseIndexes(in.Text, int(in.Completions)).String()
		}),
		aimed: indexTexts(0, 1, 2, 3, 4, 100, math.MaxInt32),
	},
	{
		name: "parseIndexes",
		draw: func(d draw) any {
			in := d.indexText()
			in.Completions = 0
			return in
		},
		aimed: indexTexts(0),
	},
	{
		name: "checkIndexes", oracle: "validateIndexesFormat",
		draw: func(d draw) any { return d.indexText() },
		kubernetes: asks(func(in vectors.IndexText, out *vectors.ReadText) {
			reason := serverOn(in)
			switch {
			case reason == "":
				*out = vectors.ReadText{Indexes: real.ParseIndexes(in.Text, int(in.Completions)).String()}
			case out.Wrong == nil:
				out.Wrong = &vectors.WrongText{Reason: reason}
			default:
				out.Wrong.Reason = reason
			}
		}),
		aimed: indexTexts(0, 1, 2, 3, 4, 100, math.MaxInt32),
	},
	{
		name: "sets", oracle: "orderedIntervals",
		draw: func(d draw) any {
			n := pick(d, int32(1+d.upTo(40)), int32(1+d.upTo(40)), 100_000, math.MaxInt32)
			a, b := d.indexes(n), d.indexes(n)
			if d.percent(10) {
				b = a.Union(d.indexes(n))
			}
			in := vectors.TwoSets{A: a.String(), B: b.String(), N: int32(d.upTo(40))}
			if last, ok := a.Max(); ok && d.percent(60) {
				in.N = last - int32(d.IntN(6)) + 2
			}
			return in
		},
		kubernetes: asks(func(in vectors.TwoSets, out *vectors.Sets) {
			a, b := real.ParseIndexes(in.A, math.MaxInt32), real.ParseIndexes(in.B, math.MaxInt32)
			out.Union, out.Rebuilt = a.Merge(b).String(), a.Merge(b).String()
			out.Contains, out.Len = a.Has(int(in.N)), a.Total()
			out.Common = a.Total() + b.Total() - a.Merge(b).Total()
			out.Equal = slices.Equal(a, b)
			out.Below = ""
			if in.N > 0 {
				out.Below = real.ParseIndexes(in.A, int(in.N)).String()
			}
			if a.Total() < 10_000 && b.Total() < 10_000 {
				out.Intersection = keep(a, b.Has).String()
				out.Difference = keep(a, func(i int) bool { return !b.Has(i) }).String()
			}
			if in.N < 10_000 {
				missing := keep(real.Intervals{{First: 0, Last: int(in.N) - 1}}, func(i int) bool { return !a.Has(i) })
				out.Complement, out.Missing = missing.String(), firstOf(missing)
			}
			out.First, out.Min, out.Max = firstOf(a), nil, nil
			if len(a) > 0 {
				out.Min, out.Max = new(int32(a[0].First)), new(int32(a[len(a)-1].Last))
			}
		}),
		aimed: twoSets(),
	},
}

// keep returns the indexes that pass a test.
func keep(x real.Intervals, test func(int) bool) (out real.Intervals) {
	for _, iv := range x {
		for i := iv.First; i <= iv.Last; i++ {
			if test(i) {
				out = out.Merge(real.Intervals{{First: i, Last: i}})
			}
		}
	}
	return out
}

// firstOf returns the first ten indexes.
func firstOf(x real.Intervals) (out []int32) {
	for _, iv := range x {
		for i := iv.First; i <= iv.Last && len(out) < 10; i++ {
			out = append(out, int32(i))
		}
	}
	return out
}

// serverOn returns the API server's error about the indexes of a success policy.
func serverOn(in vectors.IndexText) string {
	const path = "spec.successPolicy.rules[0].succeededIndexes"
	job := &batchv1.Job{}
	job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism = new(batchv1.IndexedCompletion), &in.Completions, new(int32(1))
	job.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: &in.Text}}}
	_, errs := apiserver.Create(job)
	for _, err := range errs {
		if err.Field == path {
			return strings.TrimPrefix(err.Detail, "error parsing succeededIndexes: ")
		}
	}
	return ""
}

func (d draw) indexText() vectors.IndexText {
	in := vectors.IndexText{Completions: d.completions()}
	switch d.IntN(3) {
	case 0:
		in.Text = d.indexes(in.Completions).String()
	case 1:
		in.Text = d.ungrouped(d.indexes(in.Completions))
	default:
		in.Text = d.damaged(in.Completions)
	}
	if last, ok := indexset.Max, d.percent(30); ok {
		in.Completions = min(int32(d.upTo(20)), last)
	}
	return in
}

// indexTexts returns texts that are canonical, and texts that are almost canonical.
func indexTexts(completions ...int32) (all []any) {
	for _, s := range append([]string{
		"0", "1", "0,1", "0-1", "0-2", "1-3", "0,2", "0,1,2", "2,1", "1,1", "1-1", "3-1", "1-3,4", "1-3,3", "1-3,2", "1-3,5", "1-3,5-7", "1-3,4-6",
		"1,2,4", "1,2,3", "-", "1-", "-1", "1-2-3", "1--3", "1,", ",1", ",", "1,,2", "1-3,", "9,10", "99,100", "8-11", "98-101", "9-10", "1-x", "x-1",
		"2147483645,2147483646", "2147483644-2147483646", "2147483646", "2147483647", "2147483644-2147483647", "0-2147483646",
	}, numerals...) {
		for _, n := range completions {
			all = append(all, vectors.IndexText{Text: s, Completions: n})
		}
	}
	return all
}

// twoSets returns pairs of sets of all sizes, with few intervals and with many, at regular and
// irregular distances.
func twoSets() (all []any) {
	spread := func(n, step, length, from int32) string {
		var b indexset.Builder
		for i := range n {
			b.AddRange(from+i*step, from+i*step+length-1)
		}
		return b.Set().String()
	}
	quadratic := func(n int32) string {
		var b indexset.Builder
		for i := range n {
			b.Add(i * i)
		}
		return b.Set().String()
	}
	sets := []string{"", "0", "5", "4-6", "0-9", "3,5,7", "2147483646", "2147483640-2147483646", spread(10, 10, 3, 0), spread(10, 10, 3, 3), spread(10, 10, 3, 4),
		spread(80, 4, 2, 0), spread(80, 4, 1, 2), spread(100, 1000, 1, 7), quadratic(90), spread(3, 200, 130, 1), "0," + spread(80, 2, 1, 1_000_000_000)}
	for _, a := range sets {
		for _, b := range sets {
			all = append(all, vectors.TwoSets{A: a, B: b, N: 5})
		}
		for _, n := range []int32{-1, 0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 63, 64, 65, 99, 130, 131, 201, 202, 203, 225, 226, 7000, 7007, 7921, 8000, 1_000_000_000, 1_000_000_004, 1_000_000_007, 1_000_000_158, 1_000_000_160, math.MaxInt32 - 1, math.MaxInt32} {
			all = append(all, vectors.TwoSets{A: a, N: n})
		}
	}
	return all
}
