package indexset

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
)

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

func BenchmarkParse(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		text := s.String()
		b.ResetTimer()
		for range b.N {
			if _, err := Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPlainParse and BenchmarkPlainString do the same with the obvious calls of the
// standard library, as the Job controller does.
func BenchmarkPlainParse(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		text := s.String()
		b.ResetTimer()
		for range b.N {
			var ivs []Interval
			for _, fragment := range strings.Split(text, ",") {
				parts := strings.Split(fragment, "-")
				first, _ := strconv.Atoi(parts[0])
				last, _ := strconv.Atoi(parts[len(parts)-1])
				ivs = append(ivs, Interval{int32(first), int32(last)})
			}
			if len(ivs) != len(s.ivs) {
				b.Fatalf("got %d intervals, want %d", len(ivs), len(s.ivs))
			}
		}
	})
}

func BenchmarkPlainString(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		for range b.N {
			var text strings.Builder
			for iv := range s.Intervals() {
				text.WriteString(strconv.Itoa(int(iv.First)))
				if iv.First < iv.Last {
					text.WriteByte('-')
					text.WriteString(strconv.Itoa(int(iv.Last)))
				}
				text.WriteByte(',')
			}
			_ = text.String()
		}
	})
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

func BenchmarkString(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		for range b.N {
			_ = s.String()
		}
	})
}

func BenchmarkMarshalText(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		for range b.N {
			if _, err := s.MarshalText(); err != nil {
				b.Fatal(err)
			}
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

func BenchmarkUnion500(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		last, _ := s.Max()
		few := scattered(500, int(last))
		b.ResetTimer()
		for range b.N {
			s.Union(few)
		}
	})
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

// BenchmarkClone is a lower bound for BenchmarkUnion500.
func BenchmarkClone(b *testing.B) {
	eachBenchSet(b, func(b *testing.B, s Set) {
		for range b.N {
			_ = slices.Clone(s.ivs)
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

// BenchmarkSearch compares search with that of the standard library, on intervals that are spread evenly, at random, and very unevenly.
func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	var random, uneven Builder
	for i, at, far := 0, int32(0), int32(0); i < benchIntervals; i++ {
		at += 2 + int32(r.ExpFloat64()*10)
		random.Add(at)
		if far += 2; i > benchIntervals/2 {
			far += 40_000
		}
		uneven.Add(far)
	}
	for _, tt := range []struct {
		name string
		set  Set
	}{{"even", benchSets()["singles"]}, {"random", random.Set()}, {"uneven", uneven.Set()}} {
		ivs := tt.set.ivs
		asked := make([]int32, 1<<14)
		for i := range asked {
			asked[i] = ivs[r.Intn(len(ivs))].Last - r.Int31n(2)
		}
		ask := func(name string, f func(x int32)) {
			b.Run(tt.name+"/"+name, func(b *testing.B) {
				for i := range b.N {
					f(asked[i%len(asked)])
				}
			})
		}
		ask("Contains", func(x int32) { tt.set.Contains(x) })
		ask("search", func(x int32) { search(ivs, x) })
		ask("slices", func(x int32) {
			_, _ = slices.BinarySearchFunc(ivs, x, func(iv Interval, x int32) int { return int(iv.Last) - int(x) })
		})
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
