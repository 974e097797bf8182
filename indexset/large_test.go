package indexset

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawLarge generates sets of many intervals, which alone reach some code: long strides,
// runs that are copied as a whole, wrong guesses. The density varies, so that the intervals
// are spread unevenly.
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
				if at, ok := guess(ivs, x); ok {
					got["guess"] = at
				}
				for how, got := range got {
					if got != want {
						t.Fatalf("%s, %d intervals, %s of %d from %d: got %d, want %d", name, n, how, x, from, got, want)
					}
				}
			}
		}
	}
}

// If intervals are spread evenly, guess finds every position, so that Contains need not
// search. With the second interpolation it also does so if there is one gap.
func TestGuess(t *testing.T) {
	tests := []struct {
		reason string
		n      int
		gap    int32 // the additional gap in the middle
		want   bool
	}{
		{"too few", 63, 0, false},
		{"just enough", 64, 0, true},
		{"many", 2000, 0, true},
		{"a gap of a tenth of the intervals", 2000, 400, true},
	}
	for _, tt := range tests {
		var ivs []Interval
		for i := range int32(tt.n) {
			at := 1000 + 2*i
			if int(i) >= tt.n/2 {
				at += tt.gap
			}
			ivs = append(ivs, Interval{at, at})
		}
		for want, iv := range ivs {
			if got, ok := guess(ivs, iv.Last); ok != tt.want || ok && got != want {
				t.Errorf("%s: guess of %d: got %d, %t, want %d, %t", tt.reason, iv.Last, got, ok, want, tt.want)
			}
		}
		for _, x := range []int32{-1, 0, 999, ivs[tt.n-1].Last + 1, Max, math.MaxInt32} {
			if got, ok := guess(ivs, x); ok {
				t.Errorf("%s: guess of %d: got %d, want none outside of the bounds", tt.reason, x, got)
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
			if got := s.Contains(i); got != want {
				t.Errorf("%d intervals: Contains(%d): got %t, want %t", len(s.ivs), i, got, want)
			}
		}
	}
}

// The stretch to search is no longer than the distance to it, and contains none of the
// intervals that were passed.
func TestStretch(t *testing.T) {
	ivs := make([]Interval, 21)
	for i := range ivs {
		ivs[i] = Interval{int32(10 * i), int32(10*i + 5)}
	}
	tests := []struct {
		from       int
		x          int32
		first, end int
	}{
		{0, 0, 0, 0},
		{0, 5, 0, 0},
		{0, 6, 1, 1},
		{0, 15, 1, 1},
		{0, 16, 2, 3},
		{0, 30, 2, 3},
		{0, 36, 4, 7},
		{0, 75, 4, 7},
		{0, 76, 8, 15},
		{0, 155, 8, 15},
		{0, 156, 16, 21}, // cut at the end of the list
		{0, 300, 16, 21},
		{9, 95, 9, 9},
		{9, 126, 13, 16},
		{20, 206, 21, 21},
		{21, 0, 21, 21},
	}
	for _, tt := range tests {
		first, end := stretch(ivs, tt.from, tt.x)
		if first != tt.first || end != tt.end {
			t.Errorf("from %d to %d: got %d to %d, want %d to %d", tt.from, tt.x, first, end, tt.first, tt.end)
		}
	}
}

func TestWithin(t *testing.T) {
	ivs := MustParse("1,3-5,7").ivs
	tests := []struct {
		bounds Interval
		want   []Interval
	}{
		{Interval{0, 0}, nil},
		{Interval{8, 9}, nil},
		{Interval{2, 2}, nil},
		{Interval{1, 1}, ivs[:1]},
		{Interval{4, 4}, ivs[1:2]},
		{Interval{5, 6}, ivs[1:2]},
		{Interval{2, 7}, ivs[1:]},
		{Interval{0, Max}, ivs},
	}
	for _, tt := range tests {
		if got := within(ivs, tt.bounds); !slices.Equal(got, tt.want) {
			t.Errorf("within %v: got %v, want %v", tt.bounds, got, tt.want)
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
		if a.String() != oa.text() {
			t.Fatalf("String: got %q, want %q", a, oa.text())
		}
	})
}
