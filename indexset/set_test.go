package indexset

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestZeroSetIsEmpty(t *testing.T) {
	var s Set
	check(t, "zero Set", s, oracle{})
	if !s.IsEmpty() || s.Len() != 0 || len(s.ivs) != 0 || s.String() != "" {
		t.Errorf("got IsEmpty %t, Len %d, intervals %d, String %q, want true, 0, 0 and no text", s.IsEmpty(), s.Len(), len(s.ivs), s)
	}
	if i, ok := s.Min(); ok {
		t.Errorf("Min: got %d, want none", i)
	}
	if i, ok := s.Max(); ok {
		t.Errorf("Max: got %d, want none", i)
	}
	if s.Contains(0) {
		t.Error("Contains(0): got true, want false")
	}
	if !s.Equal(Of()) || !s.Equal(MustParse("")) || s.Equal(Of(0)) {
		t.Error("the zero Set differs from Of() or from the set of the empty text, or equals Of(0)")
	}
	check(t, "union", s.Union(Of(1)), oracle{1: true})
	check(t, "union the other way", Of(1).Union(s), oracle{1: true})
	check(t, "complement", s.Complement(2), oracle{0: true, 1: true})
}

func TestOf(t *testing.T) {
	tests := []struct {
		reason  string
		indexes []int32
		want    string
	}{
		{"nothing", nil, ""},
		{"any order", []int32{7, 3, 1, 5, 4}, "1,3-5,7"},
		{"duplicates", []int32{2, 2, 2}, "2"},
		{"a pair is two indexes with a comma", []int32{4, 3}, "3,4"},
		{"both bounds are included", []int32{0, Max}, "0,2147483646"},
		{"out of range is ignored", []int32{-1, math.MinInt32, math.MaxInt32, 5}, "5"},
		{"only out of range", []int32{-1, math.MaxInt32}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			reads(t, fmt.Sprintf("Of(%v)", tt.indexes), Of(tt.indexes...), tt.want)
		})
	}
}

func TestRange(t *testing.T) {
	tests := []struct {
		reason      string
		first, last int32
		want        string
	}{
		{"one index", 3, 3, "3"},
		{"several", 3, 6, "3-6"},
		{"reversed", 6, 3, ""},
		{"clipped below", -5, 2, "0-2"},
		{"clipped above", Max - 2, math.MaxInt32, "2147483644-2147483646"},
		{"wholly below", math.MinInt32, -1, ""},
		{"wholly above", math.MaxInt32, math.MaxInt32, ""},
		{"everything", math.MinInt32, math.MaxInt32, "0-2147483646"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			reads(t, fmt.Sprintf("Range(%d, %d)", tt.first, tt.last), Range(tt.first, tt.last), tt.want)
			var b Builder
			b.AddRange(tt.first, tt.last)
			reads(t, fmt.Sprintf("AddRange(%d, %d)", tt.first, tt.last), b.Set(), tt.want)
		})
	}
}

// A set of all indexes is one interval. If an operation expanded the range, it would take
// gigabytes or never end.
func TestWholeRangeIsOneInterval(t *testing.T) {
	const text = "0-2147483645"
	s := MustParse(text)
	if len(s.ivs) != 1 || s.Len() != math.MaxInt32-1 || s.String() != text {
		t.Errorf("got %d intervals, Len %d, String %q, want 1, %d, %q", len(s.ivs), s.Len(), s, math.MaxInt32-1, text)
	}
	all := Range(0, Max)
	if got := all.Len(); got != math.MaxInt32 {
		t.Errorf("all: got Len %d, want %d", got, math.MaxInt32)
	}
	tests := []struct {
		what string
		got  Set
		want string
	}{
		{"union with the last", s.Union(Of(Max)), "0-2147483646"},
		{"union of halves", Range(0, 1<<30).Union(Range(1<<30+1, Max)), "0-2147483646"},
		{"intersection", s.Intersection(Of(5, Max)), "5"},
		{"difference", s.Difference(Of(5)), "0-4,6-2147483645"},
		{"difference from all", all.Difference(s), "2147483646"},
		{"complement", s.Complement(math.MaxInt32), "2147483646"},
		{"complement of all", all.Complement(math.MaxInt32), ""},
		{"complement of none", Set{}.Complement(math.MaxInt32), "0-2147483646"},
		{"clip", s.Clip(7), "0-6"},
		{"clip to all", all.Clip(math.MaxInt32), "0-2147483646"},
		{"clip off the last", all.Clip(Max), text},
	}
	for _, tt := range tests {
		reads(t, tt.what, tt.got, tt.want)
	}
	if got := all.IntersectionLen(s); got != math.MaxInt32-1 {
		t.Errorf("IntersectionLen: got %d, want %d", got, math.MaxInt32-1)
	}
	for i, want := range map[int32]bool{math.MinInt32: false, -1: false, 0: true, Max - 1: true, Max: false, math.MaxInt32: false} {
		if got := s.Contains(i); got != want {
			t.Errorf("Contains(%d): got %t, want %t", i, got, want)
		}
	}
	if all.Contains(math.MaxInt32) || !all.Contains(Max) {
		t.Error("all: want Max to be contained and math.MaxInt32 not")
	}
	if got, want := slices.Collect(s.Complement(math.MaxInt32).All()), []int32{Max}; !slices.Equal(got, want) {
		t.Errorf("Complement: got %v, want %v", got, want)
	}
	if got := slices.Collect(all.Complement(math.MaxInt32).All()); got != nil {
		t.Errorf("Complement of all: got %v, want nil", got)
	}
	if got, want := slices.Collect(Range(Max-1, Max).All()), []int32{Max - 1, Max}; !slices.Equal(got, want) {
		t.Errorf("All at the upper end: got %v, want %v", got, want)
	}
}

// A range loop panics if the iterator calls yield after yield has returned false.
func TestIteratorsHonourYield(t *testing.T) {
	s := MustParse("1,3-5,7")
	tests := []struct {
		what string
		// take returns the values of a loop that stops after n values.
		take func(n int) []int32
		all  []int32
	}{
		{"All", func(n int) (seen []int32) {
			for i := range s.All() {
				if seen = append(seen, i); len(seen) == n {
					break
				}
			}
			return seen
		}, []int32{1, 3, 4, 5, 7}},
		{"Intervals", func(n int) (seen []int32) {
			for iv := range s.Intervals() {
				if seen = append(seen, iv.First); len(seen) == n {
					break
				}
			}
			return seen
		}, []int32{1, 3, 7}},
		{"common", func(n int) (seen []int32) {
			for iv := range s.common(Of(3, 5, 7)) {
				if seen = append(seen, iv.First); len(seen) == n {
					break
				}
			}
			return seen
		}, []int32{3, 5, 7}},
	}
	for _, tt := range tests {
		for n := 1; n <= len(tt.all); n++ {
			if got := tt.take(n); !slices.Equal(got, tt.all[:n]) {
				t.Errorf("%s, stopped after %d: got %v, want %v", tt.what, n, got, tt.all[:n])
			}
		}
	}
}

// Negative completions count as 0, also where n-1 would wrap around.
func TestCompletionsBelowZero(t *testing.T) {
	for _, n := range []int32{-1, math.MinInt32} {
		for _, s := range []Set{{}, Of(0, 5), Range(0, Max)} {
			check(t, "Clip", s.Clip(n), oracle{})
			check(t, "Complement", s.Complement(n), oracle{})
		}
	}
}

func TestEqualNeedsNoOptions(t *testing.T) {
	type status struct{ Completed Set }
	if diff := cmp.Diff(status{Of(1, 2, 3)}, status{Range(1, 3)}); diff != "" {
		t.Errorf("want no difference, got %s", diff)
	}
	if diff := cmp.Diff(status{Of(1, 2, 3)}, status{Range(1, 4)}); diff == "" {
		t.Error("want a difference, got none")
	}
}

// The result of an operation may share intervals with its operands. Later operations must
// not change either.
func TestSetsDoNotShareChanges(t *testing.T) {
	s := MustParse("1,3-5,7,9-12")
	clipped := s.Clip(6)
	for _, grown := range []Set{clipped.Union(Of(5, 6)), clipped.Union(Of(100)), s.Clip(11).Union(Of(11))} {
		wellFormed(t, "union", grown)
	}
	if s.String() != "1,3-5,7,9-12" || clipped.String() != "1,3-5" {
		t.Errorf("got %q and %q, want 1,3-5,7,9-12 and 1,3-5", s, clipped)
	}
}

// window holds the intervals that a set is built from, all within windowSize of base.
type window struct {
	base int32
	ivs  []Interval // in any order, overlapping or reversed
}

const windowSize = 64

func (w window) oracle() oracle {
	o := oracle{}
	for _, iv := range w.ivs {
		o.addRange(iv.First, iv.Last)
	}
	return o
}

func (w window) set() Set {
	var b Builder
	for _, iv := range w.ivs {
		b.AddRange(iv.First, iv.Last)
	}
	return b.Set()
}

func drawWindow(base int32) *rapid.Generator[window] {
	return rapid.Custom(func(t *rapid.T) window {
		offset := rapid.Int32Range(0, windowSize-1)
		return window{base, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Interval {
			first := base + offset.Draw(t, "first")
			if rapid.Bool().Draw(t, "single") {
				return Interval{first, first}
			}
			return Interval{first, base + offset.Draw(t, "last")}
		}), 0, 20).Draw(t, "intervals")}
	})
}

func TestOperationsMatchOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]int32{0, 12345, Max - windowSize + 1}).Draw(t, "base")
		a, b := drawWindow(base).Draw(t, "a"), drawWindow(base).Draw(t, "b")
		checkOperations(t, a, b, rapid.Int32Range(-2, windowSize+2).Draw(t, "n"))
	})
}

// checkOperations compares every operation with the oracle. FuzzOps calls it
// too.
func checkOperations(t rapid.TB, wa, wb window, n int32) {
	t.Helper()
	a, b, oa, ob := wa.set(), wb.set(), wa.oracle(), wb.oracle()
	check(t, "a", a, oa)
	check(t, "b", b, ob)
	checkQueries(t, a, oa, wa.base)
	checkAlgebra(t, a, b, oa, ob)
	checkCompletions(t, a, oa, wa.base, n)

	text := oa.text()
	if a.String() != text {
		t.Fatalf("String: got %q, want %q", a, text)
	}
	if got := a.maxText(); got < len(text) {
		t.Fatalf("maxText of %q: got %d, want at least %d", text, got, len(text))
	}
	parsed, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	check(t, "Parse", parsed, oa)

	// The operations above have not changed their operands.
	check(t, "a afterwards", a, oa)
	check(t, "b afterwards", b, ob)
}

func checkQueries(t rapid.TB, s Set, o oracle, base int32) {
	t.Helper()
	indexes := o.sorted()
	if s.Len() != len(indexes) || s.IsEmpty() != (len(indexes) == 0) || len(s.ivs) != len(o.intervals()) {
		t.Fatalf("%v: got Len %d, IsEmpty %t, intervals %d, want those of %v", s, s.Len(), s.IsEmpty(), len(s.ivs), indexes)
	}
	least, hasLeast := s.Min()
	greatest, hasGreatest := s.Max()
	if hasLeast != (len(indexes) > 0) || hasGreatest != hasLeast {
		t.Fatalf("%v: got Min %t and Max %t, want %t", s, hasLeast, hasGreatest, len(indexes) > 0)
	}
	if hasLeast && (least != indexes[0] || greatest != indexes[len(indexes)-1]) {
		t.Fatalf("%v: got Min %d and Max %d, want those of %v", s, least, greatest, indexes)
	}
	if got := slices.Collect(s.All()); !slices.Equal(got, indexes) {
		t.Fatalf("All: got %v, want %v", got, indexes)
	}
	if got := slices.Collect(s.Intervals()); !slices.Equal(got, o.intervals()) {
		t.Fatalf("Intervals: got %v, want %v", got, o.intervals())
	}
	for i := int64(base) - 2; i <= int64(base)+windowSize; i++ {
		if i := int32(i); s.Contains(i) != o[i] {
			t.Fatalf("%v: Contains(%d): got %t, want %t", s, i, s.Contains(i), o[i])
		}
	}
}

func checkAlgebra(t rapid.TB, a, b Set, oa, ob oracle) {
	t.Helper()
	both := oa.filter(func(i int32) bool { return ob[i] })
	either := oa.filter(func(int32) bool { return true })
	for i := range ob {
		either[i] = true
	}
	check(t, "Union", a.Union(b), either)
	check(t, "Intersection", a.Intersection(b), both)
	check(t, "Difference", a.Difference(b), oa.filter(func(i int32) bool { return !ob[i] }))
	if got := a.IntersectionLen(b); got != len(both) {
		t.Fatalf("IntersectionLen of %v and %v: got %d, want %d", a, b, got, len(both))
	}
	if got, want := a.Equal(b), slices.Equal(oa.sorted(), ob.sorted()); got != want {
		t.Fatalf("Equal of %v and %v: got %t, want %t", a, b, got, want)
	}
}

func checkCompletions(t rapid.TB, s Set, o oracle, base, n int32) {
	t.Helper()
	n += min(base, math.MaxInt32-windowSize-2)
	check(t, "Clip", s.Clip(n), o.filter(func(i int32) bool { return i < n }))
	if base != 0 {
		return // the rest would list all indexes below base
	}
	missing := oracle{}
	missing.addRange(0, n-1)
	missing = missing.filter(func(i int32) bool { return !o[i] })
	check(t, "Complement", s.Complement(n), missing)
}
