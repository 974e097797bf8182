package indexset

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawLarge generates sets of many intervals, which alone reach some code: searches, and
// runs that are copied as a whole. The density varies, so that the intervals are spread
// unevenly.
func drawLarge() *rapid.Generator[oracle] {
	return rapid.Custom(func(t *rapid.T) oracle {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		o, at := oracle{}, int32(0) // rapid itself would draw small sets
		for range rapid.IntRange(1, 4).Draw(t, "stretches") {
			gap := rapid.SampledFrom([]int32{1, 2, 5, 100, 100_000}).Draw(t, "gap")
			run := rapid.SampledFrom([]int32{1, 3, 9}).Draw(t, "run")
			for range r.Intn(300) {
				first := at + 1 + r.Int31n(gap)
				at = first + r.Int31n(run)
				o.addRange(first, at)
			}
		}
		return o
	})
}

// All kinds of search give the result of a linear search.
func TestSearchesMatchLinearSearch(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	shapes := map[string]func(i int) int32{ // the gap before interval i
		"even":           func(int) int32 { return 2 },
		"random":         func(int) int32 { return 2 + r.Int31n(50) },
		"dense at first": func(i int) int32 { return 2 + 9000*int32(i/700) },
		"dense at last":  func(i int) int32 { return 2 + 9000*int32((1400-i)/700) },
		"one far off":    func(i int) int32 { return 2 + 1_000_000_000*int32(i/1399) },
	}
	for name, gap := range shapes {
		for _, n := range []int{0, 1, 2, 3, 63, 64, 65, 127, 1400} {
			var ivs []Interval
			at := int32(0)
			for i := range n {
				at += gap(i)
				ivs = append(ivs, Interval{at, at})
			}
			want := 0
			for _, x := range around(ivs) {
				for want < n && ivs[want].Last < x {
					want++
				}
				from := r.Intn(want + 1)
				got := map[string]int{"search": search(ivs, x), "seek": seek(ivs, from, x)}
				for how, got := range got {
					if got != want {
						t.Fatalf("%s, %d intervals, %s of %d from %d: got %d, want %d", name, n, how, x, from, got, want)
					}
				}
			}
		}
	}
}

// Contains is right if the distance of two indexes does not fit an int32.
func TestContainsAtTheEnds(t *testing.T) {
	for _, n := range []int32{1, 63, 64, 500} {
		var b Builder
		for i := range n {
			b.Add(2 * i)
			b.Add(Max - 2*i)
		}
		s := b.Set()
		for i, want := range map[int32]bool{
			math.MinInt32: false, math.MinInt32 + 1: false, -Max: false, -1: false, 0: true, 1: false,
			1 << 30: false, Max - 1: false, Max: true, math.MaxInt32: false,
		} {
			same(t, fmt.Sprintf("%d intervals: Contains(%d)", len(s.ivs), i), s.Contains(i), want)
		}
	}
}

// around returns numbers in and next to every interval, in increasing order.
func around(ivs []Interval) []int32 {
	numbers := []int32{-1, 0, math.MaxInt32}
	for _, iv := range ivs {
		numbers = append(numbers, iv.First-1, iv.First, iv.First+1)
	}
	slices.Sort(numbers)
	return numbers
}

func (o oracle) set() Set { return Of(o.sorted()...) }

func TestLargeSetsMatchOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		oa, ob := drawLarge().Draw(t, "a"), drawLarge().Draw(t, "b")
		a, b := oa.set(), ob.set()
		check(t, "a", a, oa)
		checkAlgebra(t, a, b, oa, ob)
		few := ob.filter(func(i int32) bool { return i%37 == 0 })
		checkAlgebra(t, a, few.set(), oa, few)
		checkAlgebra(t, few.set(), a, few, oa)
		for _, iv := range slices.Concat(a.ivs, b.ivs) {
			for _, i := range []int32{iv.First - 1, iv.First, iv.Last, iv.Last + 1} {
				if a.Contains(i) != oa[i] {
					t.Fatalf("Contains(%d): got %t, want %t", i, a.Contains(i), oa[i])
				}
			}
		}
		same(t, "String", a.String(), oa.text())
	})
}
