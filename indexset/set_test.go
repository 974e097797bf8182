package indexset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestZeroSetIsEmpty(t *testing.T) {
	none, one := window{}, window{ivs: []Interval{{1, 1}}}
	same(t, "sets of nothing", []Set{Of(), MustParse(""), none.set()}, make([]Set, 3))
	checkOperations(t, none, one, 2)
	checkOperations(t, one, none, 2)
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
	same(t, "intervals, Len, String", []any{len(s.ivs), s.Len(), s.String()}, []any{1, math.MaxInt32 - 1, text})
	all := Range(0, Max)
	same(t, "Len of all", all.Len(), math.MaxInt32)
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
	same(t, "IntersectionLen", all.IntersectionLen(s), math.MaxInt32-1)
	for i, want := range map[int32]bool{math.MinInt32: false, -1: false, 0: true, Max - 1: true, Max: false, math.MaxInt32: false} {
		same(t, fmt.Sprintf("Contains(%d)", i), s.Contains(i), want)
	}
	same(t, "all contain MaxInt32, Max", []bool{all.Contains(math.MaxInt32), all.Contains(Max)}, []bool{false, true})
	same(t, "Complement", slices.Collect(s.Complement(math.MaxInt32).All()), []int32{Max})
	same(t, "Complement of all", slices.Collect(all.Complement(math.MaxInt32).All()), nil)
	same(t, "All at the upper end", slices.Collect(Range(Max-1, Max).All()), []int32{Max - 1, Max})
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
			same(t, fmt.Sprintf("%s, stopped after %d", tt.what, n), tt.take(n), tt.all[:n])
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
	same(t, "difference", cmp.Diff(status{Of(1, 2, 3)}, status{Range(1, 3)}), "")
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
	same(t, "texts", []string{s.String(), clipped.String()}, []string{"1,3-5,7,9-12", "1,3-5"})
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
	same(t, "String", a.String(), text)
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
	same(t, "All", slices.Collect(s.All()), indexes)
	same(t, "Intervals", slices.Collect(s.Intervals()), o.intervals())
	for i := int64(base) - 2; i <= int64(base)+windowSize; i++ {
		if i := int32(i); s.Contains(i) != o[i] {
			t.Fatalf("%v: Contains(%d): got %t, want %t", s, i, s.Contains(i), o[i])
		}
	}
}

func checkAlgebra(t rapid.TB, a, b Set, oa, ob oracle) {
	t.Helper()
	both := oa.filter(func(i int32) bool { return ob[i] })
	either := maps.Clone(oa)
	maps.Copy(either, ob)
	check(t, "Union", a.Union(b), either)
	check(t, "Intersection", a.Intersection(b), both)
	check(t, "Difference", a.Difference(b), oa.filter(func(i int32) bool { return !ob[i] }))
	same(t, "IntersectionLen", a.IntersectionLen(b), len(both))
	same(t, "Equal", a.Equal(b), slices.Equal(oa.sorted(), ob.sorted()))
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
