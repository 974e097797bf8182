package indexset

import (
	"math/rand"
	"slices"
	"testing"
)

// The module bench compares parsing, formatting, unions and lookups with other libraries.

const benchIntervals = 50_000

// benchSets returns sets of 50,000 intervals. In the singles every other index is done, in
// the ranges every fourth is not.
func benchSets() map[string]Set {
	var singles, ranges Builder
	for i := range int32(benchIntervals) {
		singles.Add(2 * i)
		ranges.AddRange(4*i, 4*i+2)
	}
	return map[string]Set{"singles": singles.Set(), "ranges": ranges.Set()}
}

func eachBenchSet(b *testing.B, f func(b *testing.B, s Set)) {
	sets := benchSets()
	for _, name := range []string{"singles", "ranges"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			f(b, sets[name])
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchIntervals, "ns/interval")
		})
	}
}

func BenchmarkParseDamaged(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		text := s.String() + "," // not canonical: read the slow way
		b.ResetTimer()
		for range b.N {
			ParseDamaged(text, Max)
		}
	})
}

// scattered returns n odd indexes in [0, span). The singles have only even ones.
func scattered(n, span int) Set {
	r := rand.New(rand.NewSource(1))
	indexes := make([]int32, n)
	for i := range indexes {
		indexes[i] = int32(r.Intn(span)) | 1
	}
	return Of(indexes...)
}

func BenchmarkUnionNothingNew(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		last, _ := s.Max()
		few := s.Intersection(scattered(1000, int(last)).Union(Range(0, 100)))
		b.ResetTimer()
		for range b.N {
			s.Union(few)
		}
	})
}

func BenchmarkDifference500(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		last, _ := s.Max()
		few := s.Clip(last / 2).Union(scattered(500, int(last)))
		b.ResetTimer()
		for range b.N {
			s.Difference(few)
		}
	})
}

func BenchmarkIntersectionLen(b *testing.B) {
	sets := benchSets()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		sets["singles"].IntersectionLen(sets["ranges"])
	}
}

func BenchmarkUnionInterleaved(b *testing.B) {
	sets := benchSets()
	sets["shifted"] = Of(slices.Collect(Range(0, 4*benchIntervals).Difference(sets["ranges"]).All())...).Union(Range(0, 0))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		sets["singles"].Union(sets["shifted"])
	}
}

func BenchmarkBuilder(b *testing.B) {
	const n = 100_000
	r := rand.New(rand.NewSource(1))
	ordered, nearly := make([]int32, n), make([]int32, n)
	for i := range ordered {
		ordered[i] = int32(2 * i)
	}
	copy(nearly, ordered)
	for range n / 100 {
		i := r.Intn(n - 1)
		nearly[i], nearly[i+1] = nearly[i+1], nearly[i]
	}
	dense, sparse := make([]int32, n), make([]int32, n)
	for i, p := range r.Perm(n) {
		dense[i] = int32(p)
		sparse[i] = r.Int31n(Max)
	}
	for _, tt := range []struct {
		name    string
		indexes []int32
	}{
		{"ordered", ordered}, {"nearly ordered", nearly}, {"dense", dense},
		{"sparse", sparse}, {"500 sparse", sparse[:500]},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				var builder Builder
				for _, i := range tt.indexes {
					builder.Add(i)
				}
				builder.Set()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tt.indexes)), "ns/index")
		})
	}
}
